#!/bin/sh
# "record": each option that chooses targets. Processes that are not chosen have no sample. Tests that
# need the same state run at the same time ("also").
# Takes 70 s.
. "${TOP:?}/tests/root/lib.sh"

cp "$(build nap.c)" ./in-it
cp in-it ./elsewhere
chmod 755 . in-it elsewhere

# If the machine has no cgroup2 mount, mount one in this folder.
v2=$(mount_of cgroup2)
if [ -z "$v2" ]; then
	v2=$PWD/v2
	mkdir "$v2"
	mount -t cgroup2 none "$v2" 2>/dev/null || v2=
fi
memory=$(mount_of cgroup memory)
named=$(mount_of cgroup name=systemd)
group=lineburn-choice-$$
made=
cleanup() {
	# shellcheck disable=SC2086 # a list
	kill_own $started
	wait 2>/dev/null
	for dir in $made; do
		find "$dir" -depth -type d -exec rmdir {} + 2>/dev/null
	done
	[ "$v2" != "$PWD/v2" ] || umount "$v2"
}
started=
trap cleanup EXIT

is_called() {
	[ "$(cat "/proc/$1/comm")" = "$2" ]
}
# start PROGRAM: starts it, sets $pid; it is killed at the end
start() {
	"./$1" 100000 &
	pid=$!
	started="$started $pid"
	wait_until 60 is_called "$pid" "$1"
}
start in-it
inside=$pid
start elsewhere
other=$pid

only_inside="{p['pid'] for p in d['processes']} == {$inside} and s['count'] >= 5"
not_inside="$inside not in {p['pid'] for p in d['processes']} and $other in {p['pid'] for p in d['processes']}"

# A process that always has a child, for 200 s at least.
# shellcheck disable=SC2016 # for the inner shell
sh -c 'for i in $(seq 1000); do ./in-it 20; done' &
parent=$!
started="$started $parent"
also check choice-children chosen children \
	"any(p['comm'] == 'in-it' for p in d['processes']) and all(p['pid'] not in ($inside, $other) for p in d['processes'])" -p $parent
also check choice-no-children chosen no-children \
	"$inside in {p['pid'] for p in d['processes']} <= {$inside, $parent}" -p $parent -p $inside --no-children
also check choice-not-children chosen not-children \
	"sum(p['samples'] for p in d['processes'] if p['pid'] != $inside) == 0 and s['count'] > 5" --comm in-it -p "!$parent"
also_done
kill $parent
# Wait for its last child to end.
only_one() {
	[ "$(find /proc/[0-9]*/exe -maxdepth 0 -lname "$PWD/in-it" 2>/dev/null | wc -l)" -eq 1 ]
}
wait_until 60 only_one

also check choice-comm chosen comm "$only_inside" --comm 'in-?t'
also check choice-not-comm chosen not-comm "$not_inside" --comm '!in-*'
also check choice-two-comms chosen comms "{p['pid'] for p in d['processes']} == {$inside, $other}" --comm in-it --comm 'elsew*'
also check choice-not-pid chosen not-pid "$not_inside" -p "!$inside"
also check choice-pid-and-comm chosen pid-comm "$only_inside" -p $inside -p $other --comm 'in*'

# Chooses one of two busy threads.
cat >threads.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile unsigned long sink;
static void *one(void *arg)
{
	(void)arg;
	printf("%ld\n", syscall(SYS_gettid));
	fflush(stdout);
	for (;;)
		sink++;
	return arg;
}
static void *two(void *arg)
{
	for (;;)
		sink++;
	return arg;
}
int main(void)
{
	pthread_t a, b;
	alarm(600);
	pthread_create(&a, NULL, one, NULL);
	pthread_create(&b, NULL, two, NULL);
	pause();
	return 0;
}
END
gcc -O0 -g -o threads threads.c -pthread
./threads >tid &
threads=$!
started="$started $threads"
wait_until 60 test -s tid
tid=$(cat tid)
also check choice-thread chosen thread \
	"{f['name'] for f in d['functions']} & {'one', 'two'} == {'one'} and s['count'] > 5" -t "$tid"
also check choice-not-thread chosen not-thread \
	"{f['name'] for f in d['functions']} & {'one', 'two'} == {'two'}" --comm threads -t "!$tid"
also_done
# End it: it would use both CPUs.
kill $threads

# -t LEADER: another thread of the process calls exec, and so gets the leader's tid. With an argument,
# the leader exits half a second before.
cat >taken-over.c <<'END'
#include <pthread.h>
#include <unistd.h>
static int leader_exits;
static void await_go(void)
{
	while (access("go", F_OK))
		usleep(10000);
}
static void *take_over(void *arg)
{
	await_go();
	if (leader_exits)
		usleep(500000);
	execl("./in-it", "./in-it", "100000", (char *)NULL);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	(void)argv;
	alarm(600);
	leader_exits = argc > 1;
	pthread_create(&thread, NULL, take_over, NULL);
	await_go();
	if (leader_exits)
		pthread_exit(NULL);
	for (;;)
		pause();
}
END
gcc -O0 -g -o taken-over taken-over.c -pthread
# taken_over [ARGUMENT]: of the program above
taken_over() {
	rm -f go
	./taken-over "$@" >/dev/null 2>&1 &
	leader=$!
	"$LB" record -F 499 -d 60 -o taken.pb.gz -t $leader >/dev/null 2>err &
	recorder=$!
	wait_until 60 records $recorder && touch go &&
		wait_until 60 grep -q in-it /proc/$leader/comm && works $leader 50
	kill $leader
	wait $recorder || { tail -n 1 err; return 1; }
	"$LB" annotate --json taken.pb.gz >taken.json
	profile_has taken.json "sums_close()" \
		"{(p['pid'], p['comm']) for p in d['processes'] if p['comm'] == 'in-it'} == {($leader, 'in-it')}" \
		"note('samples', s['count']) > 5"
}
check choice-thread-taken-over taken_over
check choice-thread-taken-over-late taken_over late

# A leader that exits, while another thread goes on, ends the recording.
cat >left.c <<'END'
#include <pthread.h>
#include <unistd.h>
static void *stay(void *arg)
{
	for (;;)
		pause();
	return arg;
}
int main(void)
{
	pthread_t thread;
	alarm(600);
	pthread_create(&thread, NULL, stay, NULL);
	while (access("go", F_OK))
		;
	pthread_exit(NULL);
}
END
gcc -O0 -g -o left left.c -pthread
leader_leaves() {
	status=
	rm -f go
	./left >/dev/null 2>&1 &
	leader=$!
	"$LB" record -F 499 -d 60 -o left.pb.gz -t $leader >/dev/null 2>err &
	recorder=$!
	wait_until 60 records $recorder && works $leader 50 && touch go
	wait $recorder || status=$?
	kill $leader
	[ -z "$status" ] || { tail -n 1 err; return 1; }
	"$LB" annotate --json left.pb.gz >left.json
	profile_has left.json "sums_close()" "s['count'] > 5" "note('seconds', d['duration_ns'] / 1e9) < 50"
}
check choice-thread-leaves leader_leaves

if command -v setpriv >/dev/null; then
	setpriv --reuid=54321 --regid=54321 --clear-groups ./in-it 100000 &
	foreign=$!
	started="$started $foreign"
	wait_until 60 is_called $foreign in-it
	also check choice-user chosen user "{p['pid'] for p in d['processes']} == {$foreign}" --user 54321
	also check choice-not-user chosen not-user \
		"$foreign not in {p['pid'] for p in d['processes']} and $inside in {p['pid'] for p in d['processes']}" --user '!54321'
	also_done
	kill $foreign
else
	skip choice-user "no setpriv"
fi

# A process is moved into the chosen cgroup and out again during the recording: it has samples only
# from the time in the cgroup. (tests/stats/choice-moves.sh compares the CPU time.)
moves() {
	"$LB" record -F 999 -d 60 -o "moves-$1.pb.gz" -G "$2/$group" >"moves-$1.out" 2>"moves-$1.err" &
	recorder=$!
	wait_until 60 records $recorder || { echo "it does not begin"; kill $recorder; return 1; }
	moves_ms=$(used_ms $inside)
	echo $inside >"$2/$group/cgroup.procs"
	works $inside 50
	echo $inside >"$2/cgroup.procs"
	moves_ms=$(($(used_ms $inside) - moves_ms))
	works $inside 100
	kill -INT $recorder
	wait $recorder || { tail -n 1 "moves-$1.err"; return 1; }
	"$LB" annotate --json "moves-$1.pb.gz" >"moves-$1.json"
	"$LB" report --json --by cgroup "moves-$1.pb.gz" >"moves-$1-by.json"
	profile_has "moves-$1.json" "sums_close()" "{p['pid'] for p in d['processes']} == {$inside}" \
		"5 <= note('samples', s['count']) <= $moves_ms + 25"
}

# in_groups KIND MOUNT: the process is in a cgroup two levels below the chosen one
in_groups() {
	dir=$2/$group/deep/er
	if ! mkdir -p "$dir" 2>/dev/null; then
		skip "choice-$1" "no cgroup can be made below $2"
		return
	fi
	made="$made $2/$group"
	echo $inside >"$dir/cgroup.procs" || { skip "choice-$1" "no process can be moved there"; return; }
	also check "choice-$1" chosen "$1" "$only_inside" -G "$2/$group"
	also check "choice-$1-not" chosen "$1-not" "$not_inside" -G "!$2/$group"
	also check "choice-$1-by-path" chosen "$1-path" "$only_inside" -G "$group/deep"
	also_done
	echo $inside >"$2/cgroup.procs"
	[ "$1" = named ] || check "choice-$1-moves" moves "$1" "$2"
	echo $inside >"$dir/cgroup.procs"
	also check "choice-$1-and-comm" chosen "$1-comm" "$only_inside" -G "/$group" --comm '!elsewhere'
	also_done
	echo $inside >"$2/cgroup.procs"
	find "$2/$group" -depth -type d -exec rmdir {} +
}
# in_hierarchy KIND MOUNT
in_hierarchy() {
	if [ -n "$2" ]; then
		in_groups "$1" "$2"
	else
		skip "choice-$1" "no such hierarchy is mounted"
	fi
}
in_hierarchy v2 "$v2"
in_hierarchy memory "$memory"
in_hierarchy named "$named"

# The name exists in two hierarchies; the process is in the second one only.
if [ -n "$v2" ] && [ -n "$memory" ] && mkdir "$v2/$group" "$memory/$group" 2>/dev/null; then
	made="$made $v2/$group $memory/$group"
	echo $inside >"$memory/$group/cgroup.procs"
	also check choice-two-hierarchies chosen two-hierarchies "$only_inside" -G "$group"
	also check choice-two-hierarchies-not chosen two-hierarchies-not "$not_inside" -G "!$group"
	also_done
	echo $inside >"$memory/cgroup.procs"
	rmdir "$v2/$group" "$memory/$group"
else
	skip choice-two-hierarchies "there are no two hierarchies"
fi

# A cgroup far below the chosen one.
deep=
for _ in 1 2 3 4 5 6; do
	deep=$deep/1/2/3/4/5/6/7/8/9/0
done
if [ -n "$v2$named" ] && mkdir -p "${v2:-$named}/$group$deep" 2>/dev/null; then
	made="$made ${v2:-$named}/$group"
	echo $inside >"${v2:-$named}/$group$deep/cgroup.procs"
	also check choice-deep chosen deep "$only_inside" -G "${v2:-$named}/$group"
	also check choice-deep-not chosen deep-not "$not_inside" -G "!${v2:-$named}/$group"
	also_done
	echo $inside >"${v2:-$named}/cgroup.procs"
	find "${v2:-$named}/$group" -depth -type d -exec rmdir {} +
else
	skip choice-deep "no cgroup can be made"
fi

# Containers and units are recognized by the paths of their cgroups.
id=c401ce0c0c401ce0c0c401ce0c0c401ce0c0c401ce0c0c401ce0c0c401ce0c05
root=${v2:-$named}
if [ -n "$root" ] && mkdir -p "$root/$group.slice/docker-$id.scope" "$root/$group.slice/lineburn-test.service"; then
	made="$made $root/$group.slice"
	echo $inside >"$root/$group.slice/docker-$id.scope/cgroup.procs"
	echo $other >"$root/$group.slice/lineburn-test.service/cgroup.procs"
	also check choice-container chosen container "$only_inside" --container c401ce0c0c40
	also check choice-not-container chosen not-container "$not_inside" --container '!c401ce0c0c40'
	also check choice-unit chosen unit "{p['pid'] for p in d['processes']} == {$other}" --unit lineburn-test
	also_done
	# A user's cgroup with the same container id is another container, "UID/ID".
	mkdir -p "$root/$group.slice/user.service" "$root/$group.slice/docker-$id.scope/docker-$id.scope"
	chown 65534:65534 "$root/$group.slice/user.service"
	setpriv --reuid 65534 --regid 65534 --clear-groups mkdir "$root/$group.slice/user.service/docker-$id.scope"
	echo $other >"$root/$group.slice/user.service/docker-$id.scope/cgroup.procs"
	also check choice-container-of-root-only chosen container-roots "$only_inside" --container $id
	also check choice-container-no-pattern chosen container-pattern "$only_inside" --container '*c401ce0c0c40*'
	also check choice-container-hides-nobody chosen container-hidden "$not_inside" --container "!$id"
	only_other="{(p['pid'], p['container']) for p in d['processes']} == {($other, '65534/$id')}"
	also check choice-container-of-a-user chosen container-users "$only_other" --container 65534/c401ce0c0c40
	both="{($inside, '$id'), ($other, '65534/$id')} <= {(p['pid'], p['container']) for p in d['processes']}"
	also check choice-container-labels chosen container-labels "$both" -p $inside -p $other
	also_done
	# The same from a cgroup namespace, whose root is beside them: there their paths begin with "/..".
	# Where the folders cannot be seen, a name may be anybody's: it counts as the process's user's.
	cat >in-namespace <<-END
		#!/bin/sh
		echo 0 >"$root/$group/cgroup.procs" && exec unshare -C "$LB" "\$@"
	END
	cat >in-blind-namespace <<-END
		#!/bin/sh
		echo 0 >"$root/$group/cgroup.procs" &&
			exec unshare -C -m sh -c 'mount -t tmpfs none "$root" && exec "$LB" "\$@"' sh "\$@"
	END
	chmod 755 in-namespace in-blind-namespace
	in_namespace() {
		in_namespace_program=$PWD/$1
		shift
		LB=$in_namespace_program chosen "$@"
	}
	if unshare -C true 2>/dev/null && mkdir "$root/$group"; then
		made="$made $root/$group"
		check choice-container-in-namespace in_namespace in-namespace namespace-labels "$both" -p $inside -p $other
		neither="{($inside, '0/$id'), ($other, '0/$id')} <= {(p['pid'], p['container']) for p in d['processes']}"
		check choice-container-unseen in_namespace in-blind-namespace unseen-labels "$neither" -p $inside -p $other
		rmdir "$root/$group"
	else
		skip choice-container-in-namespace "no cgroup namespace can be made"
	fi
	# A cgroup with a container id inside another container: the outermost one counts.
	id3=0f0c0ffeec401ce0c0c401ce0c0c401ce0c0c401ce0c0c401ce0c0c401ce0c05
	mkdir -p "$root/$group.slice/docker-$id3.scope/docker-$id.scope"
	echo $other >"$root/$group.slice/docker-$id3.scope/docker-$id.scope/cgroup.procs"
	also check choice-container-outermost chosen container-outermost "$only_inside" --container $id
	nested="{(p['pid'], p['container']) for p in d['processes']} == {($other, '$id3')}"
	also check choice-container-nested chosen container-nested "$nested" --container $id3
	also_done
	echo $other >"$root/cgroup.procs"
	rmdir "$root/$group.slice/docker-$id3.scope/docker-$id.scope" "$root/$group.slice/docker-$id3.scope" \
		"$root/$group.slice/user.service/docker-$id.scope" "$root/$group.slice/user.service" \
		"$root/$group.slice/docker-$id.scope/docker-$id.scope"
	# watches: number of lineburn's inotify watches on the directories whose inodes are in the file
	watches() {
		cat "/proc/$recorder/fdinfo"/* 2>/dev/null | sed -n 's/^inotify wd:[^ ]* ino:\([0-9a-f]*\) .*/\1/p' |
			grep -cxF -f inodes
	}
	has_watches() {
		[ "$(watches)" -eq "$1" ]
	}
	# inode DIRECTORY: its inode number, in the format of fdinfo
	inode() {
		printf '%x\n' "$(stat -c %i "$1")"
	}
	# During the recording one container is created and another removed.
	later() {
		id2=c401ce0c0badc401ce0c0c401ce0c0c401ce0c0c401ce0c0c401ce0c0c40c0ff
		says 1 'no container is called' --container 'c401ce0c0*' --container lineburn-no || return 1
		"$LB" record -F 499 -d 60 -o later.pb.gz --container 'c401ce0c0*' 2>err &
		recorder=$!
		wait_until 60 records $recorder || { echo "it does not begin"; return 1; }
		works $inside 50
		mkdir "$root/$group.slice/docker-$id2.scope"
		inode "$root/$group.slice/docker-$id2.scope" >inodes
		wait_until 60 has_watches 1 || { echo "the new one is not seen"; kill $recorder; return 1; }
		echo $other >"$root/$group.slice/docker-$id2.scope/cgroup.procs"
		echo $inside >"$root/cgroup.procs"
		rmdir "$root/$group.slice/docker-$id.scope"
		works $other 100
		kill -INT $recorder
		wait $recorder || { tail -n 1 err; return 1; }
		"$LB" annotate --json later.pb.gz >later.json
		profile_has later.json "sums_close()" \
			"{p['pid'] for p in note('processes', d['processes'])} == {$inside, $other}"
	}
	check choice-later later
	# Containers that are created and removed leave no watches behind.
	come_and_go() {
		mkdir "$root/$group.slice/docker-$id.scope"
		echo $inside >"$root/$group.slice/docker-$id.scope/cgroup.procs"
		"$LB" record -F 499 -d 600 -o gone.pb.gz --container 'c401ce0c0*' 2>err &
		recorder=$!
		wait_until 60 records $recorder || { echo "it does not begin"; return 1; }
		tail=$(echo "$id" | cut -c 13-)
		for i in $(seq 100 399); do
			mkdir "$root/$group.slice/docker-c401ce0c0$i$tail.scope"
			inode "$root/$group.slice/docker-c401ce0c0$i$tail.scope"
		done >inodes
		wait_until 60 has_watches 300
		between=$(watches)
		rmdir "$root/$group.slice/docker-c401ce0c0"[1-3][0-9][0-9]*.scope 2>/dev/null
		wait_until 60 has_watches 0
		after=$(watches)
		kill $recorder
		wait $recorder || { tail -n 1 err; return 1; }
		echo $inside >"$root/cgroup.procs"
		rmdir "$root/$group.slice/docker-$id.scope" 2>/dev/null
		if [ "$between" -ne 300 ] || [ "$after" -ne 0 ]; then
			echo "watches: $between, $after"
			return 1
		fi
	}
	check choice-come-and-go come_and_go
	echo $other >"$root/cgroup.procs"
else
	skip choice-container "no cgroup can be made"
fi

sh -c 'exit 0' &
dead=$!
wait $dead
check choice-no-thread says 1 "no thread $dead" -t $dead
check choice-no-thread-to-leave-out says 1 "no thread $dead" -t "!$dead"
check choice-no-process says 1 "no process $dead" -p "!$dead"
check choice-no-user says 1 "similar: root" --user roott
check choice-no-cgroup says 1 'no cgroup "no\x1bsuch' -G "no$(printf '\033')such"
check choice-no-container says 1 "no container is called" --container lineburn-none
check choice-no-unit says 1 "no unit" --unit lineburn-none
check choice-no-samples says 4 "no samples" --comm lineburn-none

ends_with_thread() {
	"./in-it" 300 &
	short=$!
	begin=$(date +%s)
	timeout 150 "$LB" record -F 999 -t $short -d 120 -o with.pb.gz 2>err &
	recorder=$!
	wait_until 60 sh -c "grep -qE 'ep_poll|epoll_wait' /proc/\$(pgrep -P $recorder)/wchan" ||
		{ echo "it does not begin"; kill $short; return 1; }
	works $short 50 || { echo "it gets no CPU"; kill $short; return 1; }
	kill $short
	wait $recorder || { tail -n 1 err; return 1; }
	[ $(($(date +%s) - begin)) -lt 90 ] || { echo "it went on without its thread"; return 1; }
	"$LB" annotate --json with.pb.gz >with.json && profile_has with.json "s['count'] > 0" "sums_close()"
}
check choice-ends-with-thread ends_with_thread
