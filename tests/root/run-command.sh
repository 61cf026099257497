#!/bin/sh
# "run" does not change the command's streams, exit status and signals.
# Takes 15 s.
. "${TOP:?}/tests/root/lib.sh"

# status_is EXPECTED COMMAND...
status_is() {
	expected=$1
	shift
	status=0
	timeout 60 "$@" >out 2>err || status=$?
	[ "$status" -eq "$expected" ] && return 0
	echo "status $status, not $expected: $(tail -n 1 err)"
	return 1
}

check exit-status status_is 7 "$LB" run -- sh -c 'exit 7'
check exit-not-found status_is 127 "$LB" run -- ./no-such-command
touch not-executable
check exit-not-executable status_is 126 "$LB" run -- ./not-executable
check exit-zero-without-samples status_is 0 "$LB" run -- true
# A command that a signal kills: lineburn ends with the same wait status.
wait_status() {
	python3 - "$LB" <<'END'
import subprocess
import sys
p = subprocess.run([sys.argv[1], "run", "--", "sh", "-c", "kill -TERM $$"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30, check=False)
if p.returncode != -15:
    sys.exit(f"wait status {p.returncode}, not killed by 15")
END
}
check wait-status-of-signal wait_status

streams() {
	printf 'one\ntwo\n' | "$LB" run -- sh -c 'cat; echo error >&2' >out 2>err || return 1
	[ "$(head -n 2 out | tr '\n' ' ')" = "one two " ] || { echo "stdout: $(head -n 2 out)"; return 1; }
	head -n 1 err | grep -qx error || { echo "stderr: $(head -n 1 err)"; return 1; }
}
check streams streams

# shellcheck disable=SC2016 # for the inner shell
closed_stdout() {
	# lineburn's stdout is a closed pipe. The profile is written before lineburn notices that.
	python3 - "$LB" run -F 999 -o piped.pb.gz -- sh -c '"$0" 5 >/dev/null' "$(build hot.c)" 2>err <<'END' || return 1
import os
import subprocess
import sys
read, write = os.pipe()
os.close(read)
p = subprocess.run(sys.argv[1:], stdout=write, timeout=60, check=False)
if p.returncode != -13:
    print(f"status {p.returncode}, not ended by SIGPIPE")
    sys.exit(1)
END
	! grep -v '^lineburn: ' err || return 1
	"$LB" annotate --json piped.pb.gz >piped.json && profile_has piped.json "s['count'] > 50" "sums_close()"
}
check closed-pipe closed_stdout

# shellcheck disable=SC2016 # for the inner shell
forwards() {
	rm -f got ready
	"$LB" run -- sh -c 'trap "echo $1 >got; exit 9" "$1"; : >ready; for i in $(seq 6000); do sleep 0.1; done' sh "$1" >/dev/null 2>err &
	pid=$!
	wait_until 60 test -e ready || { kill -KILL $pid; echo "never started"; return 1; }
	kill -s "$1" $pid
	status=0
	wait $pid || status=$?
	[ "$(cat got 2>/dev/null)" = "$1" ] && [ "$status" -eq 9 ] && return 0
	echo "the command got $(cat got 2>/dev/null || echo nothing), status $status"
	return 1
}
check forwards-TERM forwards TERM
check forwards-HUP forwards HUP
check forwards-USR1 forwards USR1

# --delay 1: the profile begins at least a second after the start, and before the command ends.
delay() {
	date +%s.%N >before
	# shellcheck disable=SC2016 # for the inner shell
	"$LB" run --delay 1 -F 99 -- sh -c 'date +%s.%N >begin; "$0" 20; date +%s.%N >end' "$(build hot.c)" >out 2>err ||
		return 1
	"$LB" annotate --json >delay.json || return 1
	profile_has delay.json "0.2e9 < d['duration_ns']" "20 <= s['count']" "sums_close()" || return 1
	python3 -c '
import json
before, begin, end = (float(open(name, encoding="ascii").read()) for name in ("before", "begin", "end"))
d = json.load(open("delay.json", encoding="ascii"))
if not before + 1 <= d["time_ns"] / 1e9 < end: raise SystemExit("it begins %.3f s after the start" % (d["time_ns"] / 1e9 - before))'
}
check delay delay

dry_run() {
	rm -f lineburn.pb.gz started
	"$LB" run --dry-run -- touch started >out 2>err || { tail -n 1 err; return 1; }
	"$LB" record --dry-run -a >>out 2>>err || { tail -n 1 err; return 1; }
	[ ! -e started ] || { echo "the command was started"; return 1; }
	[ ! -e lineburn.pb.gz ] || { echo "a file was written"; return 1; }
	[ ! -s out ] || { echo "stdout: $(head -n 1 out)"; return 1; }
}
check dry-run dry_run

# ---- lineburn opens no file that is not a command; under sudo, none with root's rights ----

chmod 777 .
nobody="SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody"

# A writer waits on the pipe. If any process opens it for reading, however briefly, the writer continues.
waits() {
	grep -qs 'State:.S' "/proc/$1/status" && grep -qsE 'fifo|pipe|partner' "/proc/$1/wchan"
}
pipe_unopened() {
	rm -f pipe
	mkfifo -m 777 pipe
	timeout 120 sh -c 'exec 3>pipe' &
	timeout=$!
	writer=
	wait_until 60 finds_writer || { kill $timeout; echo "the writer does not wait"; return 1; }
	said=0
	status_is 126 env "$@" "$LB" run -o pipe.pb.gz -- ./pipe || said=1
	# Wait until it waits again, or has ended.
	[ $said -ne 0 ] || wait_until 60 rests || { echo "the writer is busy"; said=1; }
	[ $said -ne 0 ] || waits "$writer" || { echo "the pipe was opened"; said=1; }
	kill $timeout 2>/dev/null
	return $said
}
finds_writer() {
	writer=$(cut -d ' ' -f 1 "/proc/$timeout/task/$timeout/children") && [ -n "$writer" ] && waits "$writer"
}
rests() {
	waits "$writer" || [ ! -e "/proc/$writer/fd/0" ]
}
check pipe-unopened pipe_unopened
# shellcheck disable=SC2086 # a list of variables
check pipe-unopened-under-sudo pipe_unopened $nobody

# The master of a pseudo terminal shows whether the terminal was ever opened.
device_unopened() {
	timeout 60 python3 - "$LB" "$@" <<'END'
import fcntl
import os
import select
import struct
import subprocess
import sys
lineburn, *variables = sys.argv[1:]
master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
fcntl.ioctl(master, 0x40045431, struct.pack("i", 0))  # TIOCSPTLCK: unlock it
number = struct.unpack("I", fcntl.ioctl(master, 0x80045430, bytes(4)))[0]  # TIOCGPTN
device = f"/dev/pts/{number}"
os.chmod(device, 0o777)
poll = select.poll()
poll.register(master, select.POLLHUP)
if poll.poll(0):
    sys.exit("it was opened before")
status = subprocess.run([lineburn, "run", "-o", "device.pb.gz", "--", device], check=False,
                        env={**os.environ, **dict(v.split("=") for v in variables)},
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
if status != 126:
    sys.exit(f"status {status}, not 126")
if poll.poll(0):
    sys.exit("the device was opened")
os.close(os.open(device, os.O_RDWR | os.O_NOCTTY))
if not poll.poll(0):
    sys.exit("this test cannot tell")
END
}
check device-unopened device_unopened
# shellcheck disable=SC2086 # a list of variables
check device-unopened-under-sudo device_unopened $nobody

# A file that the user may execute but not read is executed.
unreadable() {
	cp /bin/true unreadable
	chmod 711 unreadable
	status_is 0 env "$@" "$LB" run -o unreadable.pb.gz -- ./unreadable
}
# shellcheck disable=SC2086 # a list of variables
check unreadable-under-sudo unreadable $nobody

# A file that only root may read is not read for another user: its access time does not change.
# shellcheck disable=SC2016 # for the inner shell
secret_unread() {
	mkdir -p accessed
	timeout 60 unshare -m --propagation private sh -c '
		mount -t tmpfs -o strictatime,mode=755 none accessed || exit 1
		printf "#!/bin/sh\n" >accessed/secret
		chmod "$1" accessed/secret
		touch -a -d 2001-01-01 accessed/secret
		before=$(stat -c %X accessed/secret)
		env SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody "$LB" run -o secret.pb.gz -- accessed/secret >out 2>err
		echo "$? $([ "$(stat -c %X accessed/secret)" -eq "$before" ] || echo read)"' sh "$1" >secret.said
	[ "$(cat secret.said)" = "$2" ] && return 0
	echo "$(cat secret.said), not $2: $(tail -n 1 err)"
	return 1
}
check secret-unread-under-sudo secret_unread 700 "126 "
check script-read-under-sudo secret_unread 755 "0 read"

# A command has the environment of the user who called sudo, and no other's: not that of root, who called another sudo
# above, nor that of a user's program of this name. sudo's real uid is its caller's.
# shellcheck disable=SC2016,SC2024 # for the inner shells; this sudo is a copy of sh
sudo_environment() {
	cp "$(realpath "$(command -v sh)")" sudo
	cat >environment.sh <<-'END'
		env -i PATH="$PATH" SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody \
			"$LB" run -o environment.pb.gz -- sh -c 'echo "of ${LB_CALLER:-nobody}"' | head -n 1
	END
	cat >environment.py <<-'END'
		import ctypes
		import os
		ctypes.CDLL(None).prctl(15, b"sudo")  # PR_SET_NAME
		read, write = os.pipe()
		if not os.fork():
		    os.read(read, 1)
		    os.execvp("sh", ["sh", "./environment.sh"])
		os.setresuid(65534, 65534, 65534)
		os.write(write, b"x")
		os.wait()
	END
	setpriv --ruid 65534 env LB_CALLER=user ./sudo -p -c 'setpriv --reuid 0 sh ./environment.sh; exit' >of.user 2>user.err
	LB_CALLER=root ./sudo -c 'setpriv --ruid 65534 env LB_CALLER=user ./sudo -p -c "
		setpriv --reuid 0 sh ./environment.sh; exit"; exit' >of.inner 2>inner.err
	# Before 1.9.4 its real uid was root's, too.
	setpriv --ruid 65534 env LB_CALLER=user sh -p -c \
		'setpriv --ruid 0 ./sudo -c "sh ./environment.sh; exit"; exit' >of.old 2>old.err
	LB_CALLER=root ./sudo -c 'sh ./environment.sh; exit' >of.root 2>root.err
	# Root called this sudo, below one of the user's; and the user's program one that has another name.
	ln -s sudo other
	setpriv --ruid 65534 env LB_CALLER=root sh -p -c \
		'setpriv --ruid 0 ./sudo -c "setpriv --ruid 65534 ./other -p -c \"setpriv --reuid 0 sh ./environment.sh; exit\"; exit"; exit' \
		>of.hook 2>hook.err
	LB_CALLER=program python3 environment.py >of.program 2>program.err
	said=$(head -qn 1 of.user of.inner of.old of.hook of.root of.program | tr '\n' ' ')
	warned=$(grep -l "environment that sudo made" ./*.err | tr '\n' ' ')
	said="$said$warned"
	[ "$said" = "of user of user of user of nobody of nobody of nobody ./hook.err ./program.err ./root.err " ] || { echo "$said"; return 1; }
}
check sudo-environment sudo_environment

# Users and groups that are not in /etc/passwd: getent(1) and id(1) ask the modules of nsswitch.conf, which run
# as root, but have no capabilities and do not see the caller's environment.
# with_afar COMMAND ARG...: where they know one user, "afar" (64321)
with_afar() {
	module=$(ldconfig -p | sed -n 's/.*libnss_hesiod\.so\.2.* => //p' | head -n 1)
	[ -n "$module" ] || { echo "there is no libnss_hesiod.so.2 to replace"; return 1; }
	cp "$(build nss_tell.c "-shared -fPIC")" libnss_tell.so.2 || return 1
	cp "$(realpath "$(command -v sh)")" sudo
	printf 'passwd: files hesiod\ngroup: files\ninitgroups: hesiod\n' >nsswitch.conf
	# shellcheck disable=SC2016 # for the inner shell
	timeout 120 unshare -m --propagation private sh -c '
		module=$1
		shift
		mount --bind nsswitch.conf /etc/nsswitch.conf || exit 1
		mount --bind libnss_tell.so.2 "$module" || exit 1
		[ ! -d /run/nscd ] || mount -t tmpfs none /run/nscd || exit 1
		"$@"' sh "$module" "$@" >out 2>err
}
# shellcheck disable=SC2016 # for the inner shells
users_from_afar() {
	rm -f told
	mkdir afar && chown 64321 afar || return 1
	with_afar setpriv --ruid 64321 env -i PATH="$PATH" LB_CALLER=secret ./sudo -p -c '
		setpriv --reuid 0 env -i PATH="$PATH" SUDO_UID=64321 SUDO_GID=64321 SUDO_USER=afar "$1" run -F 499 -o afar/told.pb.gz -- \
			sh -c "id -u; id -G; echo \$LB_CALLER; i=0; while [ \$i -lt 300000 ]; do i=\$((i + 1)); done"
		exit $?' sh "$LB" || { tail -n 1 err; return 1; }
	said=$(head -n 3 out | tr '\n' ' ')
	[ "$said" = "64321 64321 64322 secret " ] || { echo "the command said $said"; return 1; }
	"$LB" report --by user --json afar/told.pb.gz | grep -q afar || {
		echo "users: $("$LB" report --by user --json afar/told.pb.gz 2>&1 | tr "\n" " ")"
		return 1
	}
	[ "$(sort -u told)" = "afar: uid 0, caller unknown" ] && return 0
	echo "the module was told: $(cat told)"
	return 1
}
check users-from-afar users_from_afar

# Many users without names keep nobody from getting a name who has more samples. Those that were not looked up
# in time have numbers, so all samples have a user.
cat >many-users.py <<-'END'
	import os
	import time
	for i in range(401):
	    if os.fork():
	        os.wait()
	        continue
	    os.setuid(100000 + i if i < 400 else 64321)
	    end = time.process_time() + (0.005 if i < 400 else 0.1)
	    while time.process_time() < end:
	        pass
	    os._exit(0)
END
many_users() {
	with_afar "$LB" run -F 999 -o many.pb.gz -- python3 ./many-users.py || { tail -n 1 err; return 1; }
	"$LB" report --by user --json many.pb.gz >many.json || return 1
	python3 - <<-'END'
		import json
		import sys
		users = [row["user"] or "" for row in json.load(open("many.json"))["groups"]]
		if "afar" not in users or "64321" in users:
		    sys.exit(f"afar is not among {users[:5]}")
		if not [user for user in users if user.startswith("100")]:
		    sys.exit(f"no number among {users[:5]}")
	END
}
check many-users many_users

# The command has what the user would have without lineburn: ids, groups, capabilities, limits, mask, signals,
# namespaces, and no descriptors but the caller's.
cat >inherited.sh <<-END
	umask
	id
	cat /proc/self/limits /proc/self/oom_score_adj /proc/self/cgroup /proc/self/timerslack_ns
	grep -E '^(Sig|Shd|Cap|Groups|Uid|Gid|NoNewPrivs|Seccomp)' /proc/self/status
	ls /proc/self/fd
	readlink /proc/self/ns/*
	pwd
	nice
	echo end
END
chmod 644 inherited.sh
inherited_is_the_users() {
	# shellcheck disable=SC2086,SC3045 # a list of variables; dash has ulimit -n
	(umask 027 && ulimit -n 777 && ulimit -f 99999 && exec 7<inherited.sh &&
		setpriv --reuid=65534 --regid=65534 --init-groups sh ./inherited.sh >direct.out &&
		env $nobody "$LB" run -o inherited.pb.gz -- sh ./inherited.sh >out 2>err) || { tail -n 1 err; return 1; }
	sed '/^end$/q' out | diff direct.out -
}
check inherited-under-sudo inherited_is_the_users
