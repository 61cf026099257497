#!/bin/sh
# An idle daemon of root starts short jobs of another user. Most jobs end before lineburn reads
# /proc, and lineburn must not open files for them with the daemon's rights: their debug info names
# a file that only root may read.
. "${TOP:?}/tests/root/lib.sh"

NR_JOBS=${LB_JOBS:-100} # at most 1000
daemon=
recording=
clean_up() {
	# shellcheck disable=SC2086 # a list of numbers
	kill_own $daemon $recording
}
trap clean_up EXIT

chmod 755 .
mkdir -m 700 secrets
mkdir container
if ! { jobs=$(build jobs.c) &&
	job=$(build job.c "-O1 -static -Wl,--build-id -DSECRET=\"$PWD/secrets/000.txt\""); }; then
	fail jobs "cannot build its programs"
	exit
fi

# Each job is a different program with a different secret, so that nothing cached for one job
# applies to another.
python3 - "$job" "$PWD" "$NR_JOBS" <<'END' || exit
import os
import re
import sys

source, folder, number = sys.argv[1:]
with open(source, "rb") as f:
    program = f.read()
build_id = re.search(rb"\x14\0\0\0\x03\0\0\0GNU\0", program).end()
for i in range(int(number)):
    copy = bytearray(program.replace(b"000.txt\0", b"%03d.txt\0" % i))
    copy[build_id : build_id + 3] = b"%03d" % i
    for name in f"{folder}/job-{i:03}", f"{folder}/container/job-{i:03}":
        with open(name, "wb") as f:
            f.write(copy)
        os.chmod(name, 0o755)
    with open(f"{folder}/secrets/{i:03}.txt", "w", encoding="ascii") as f:
        f.writelines(f"top secret {i}, line {line}\n" for line in range(40))
    os.chmod(f.name, 0o600)
END

# record NAME ROOT JOB...: records the whole machine while the daemon starts the jobs
record() {
	record_name=$1
	shift
	mkfifo "$record_name.go" || return 1
	"$jobs" "$@" <"$record_name.go" &
	daemon=$!
	exec 9>"$record_name.go"
	"$LB" record -a -F 999 -o "$record_name.pb.gz" >"$record_name.out" 2>"$record_name.err" 9>&- &
	recording=$!
	wait_until 30 records $recording || { echo "it does not begin: $(tail -n 1 "$record_name.err")"; return 1; }
	exec 9>&-
	wait $daemon || { echo "not every job ran"; return 1; }
	kill -INT $recording
	wait $recording || { tail -n 1 "$record_name.err"; return 1; }
	daemon=
	recording=
}

# told NAME USER: the profile has no secret, no job of a wrong user, and lines for the jobs
told() {
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$TOP/tests/root" python3 - "$1.pb.gz" "$2" <<'END'
import collections
import pwd
import re
import sys

import pprof_file

profile = pprof_file.read(sys.argv[1])
strings = pprof_file.string_table(profile)
users, with_line = collections.Counter(), 0
places = pprof_file.places(profile)
for sample, count in pprof_file.samples(profile):
    labels = {}
    for part, label in pprof_file.fields(sample):
        if part == 3:
            words = dict(pprof_file.fields(label))
            labels[strings[words[1]]] = strings[words.get(2, 0)]
    if not labels["comm"].startswith("job-"):
        continue
    users[labels.get("user")] += count
    frames = [frame for at in pprof_file.numbers(sample, 1) for frame in places[at][1]]
    with_line += count * any("/secrets/" in file and line for _, file, line in frames)
secrets = set(re.findall(rb"top secret (\d+)", profile))
said = f"{len(secrets)} secrets told; samples of jobs: {dict(users)}, {with_line} with a line"
print(said)
# A job may exit while /proc is read; then its user namespace is not known, and the user has a number.
wrong = sys.argv[2] == "nobody" and set(users) - {"nobody", str(pwd.getpwnam("nobody").pw_uid), None}
if secrets or wrong or with_line < 50:
    sys.exit(said)
END
}

setuid_jobs() {
	record setuid - "$PWD"/job-[0-9]* && told setuid nobody
}
figure setuid-jobs setuid_jobs

container_jobs() {
	(cd container && ls -d job-[0-9]*) | sed 's,^,/,' >names
	# shellcheck disable=SC2046 # a list of names
	record container "$PWD/container" $(cat names) && told container root
}
figure container-jobs container_jobs

# Jobs of the user who called sudo. The folder is for the profile, which belongs to that user.
sudo_jobs() {
	mkdir -m 777 sudo && cd sudo || return 1
	# shellcheck disable=SC2016 # for the inner shell
	env SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody "$LB" run -F 999 -o sudo.pb.gz -- \
		sh -c 'for job; do "$job" || exit; done' sh ../job-[0-9]* >sudo.out 2>sudo.err || { tail -n 1 sudo.err; return 1; }
	told sudo nobody
}
figure sudo-jobs sudo_jobs
