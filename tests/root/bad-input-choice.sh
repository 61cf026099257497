#!/bin/sh
# Targets that do not exist, and targets that disappear while they are sampled.
# Takes 10 s.
. "${TOP:?}/tests/root/lib-machine.sh"

# ---- targets that do not exist ----

cat >threads.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *idle(void *arg)
{
	printf("%ld\n", syscall(SYS_gettid));
	fflush(stdout);
	for (;;)
		pause();
	return arg;
}
int main(void)
{
	pthread_t thread;
	if (!fork())
		return 0; /* becomes a zombie */
	alarm(600);
	pthread_create(&thread, NULL, idle, NULL);
	pause();
	return 0;
}
END
gcc -o threads threads.c -pthread
./threads >tid &
threads=$!
ends "$threads"
wait_until 60 test -s tid
tid=$(cat tid)
wait_until 60 children $threads
zombie=$(children $threads | tr -d ' ')
sh -c 'exit 0' &
dead=$!
wait $dead
check nothing-thread-as-process says 1 "$tid is a thread of process $threads; give -t $tid" -p "$tid"
check nothing-not-thread-as-process says 1 "$tid is a thread of process $threads" -p "!$tid"
check nothing-zombie says 1 "process $zombie has ended" -p "$zombie"
check nothing-process says 1 "no process $dead" -p $dead
check nothing-thread says 1 "no thread $dead" -t $dead
# A pid that exists only in another pid namespace. Status 77: it exists here, too.
inner() {
	number=$(($(cat /proc/sys/kernel/pid_max) - 7))
	[ ! -e "/proc/$number" ] || return 77
	# shellcheck disable=SC2016 # for the inner shell
	unshare -p -f --kill-child sh -c 'echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid
		sleep 1000 & echo $! >second; wait' sh $number >/dev/null &
	ends "$!"
	wait_until 60 test -s second
	[ "$(cat second)" = $number ] || { echo "it is $(cat second)"; return 1; }
	says 1 "there is no process $number; processes with this pid in a pid namespace of their own: " -p $number &&
		grep -q '(sleep)' err
}
inner_status=0
inner >inner.said || inner_status=$?
case $inner_status in
0) pass nothing-inner-process ;;
77) skip nothing-inner-process "the number is somebody's here, too" ;;
*) fail nothing-inner-process "$(tail -n 1 inner.said)" ;;
esac
check nothing-comm says 4 'no thread is called "insid3"; similar: inside' --comm insid3
check nothing-comm-warned grep -qF 'recording in case that changes' err
check nothing-user says 4 'nothing runs as user "54329"' --user 54329
check nothing-user-unknown says 1 'no user "roott" on this system; similar: root' --user roott

if [ -n "$v2" ] && mkdir -p "$v2/$group/web-server.service" "$v2/$group/docker-$id.scope"; then
	made="$made $v2/$group"
	check nothing-cgroup says 1 'similar: web-server.service' -G "$group/web-servre.service"
	check nothing-unit says 1 'similar: web-server.service' --unit web-servre.service
	check nothing-container says 1 "; similar: $id" --container "${id%fee5}efe5"

	# ---- targets that disappear while they are sampled ----

		# start_in DIRECTORY: moves a process to the cgroup, then executes the program, as runtimes
		# do. Samples between the move and the exec may still have the old cgroup's label, and so may
		# one or two samples during the exec, which have the new name already.
	start_in() {
		# shellcheck disable=SC2016 # for the inner shell
		start inside sh -c 'echo 0 >"$1/cgroup.procs" && shift && exec "$@"' sh "$1"
	}
	# replaced OPTION VALUE DIRECTORY: kills its process, removes the cgroup and makes it again
	replaced() {
		mkdir -p "$3"
		start_in "$3"
		first=$pid
		lineburn record -F 999 -d 600 -o replaced.pb.gz "$1" "$2" >out 2>err &
		recorder=$!
		ends "$recorder"
		wait_until 60 is_sampling $recorder || { echo "it did not begin: $(cat err)"; return 1; }
		works "$first" 50
		kill -9 "$first"
		wait "$first" 2>/dev/null
		wait_until 60 removed "$3" || { echo "the cgroup is still there"; return 1; }
		mkdir "$3"
		start_in "$3"
		second=$pid
		works "$second" 50
		kill "$(recording $recorder)"
		wait "$recorder" || { tail -n 1 err; return 1; }
		kill -9 "$second"
		"$LB" annotate --json replaced.pb.gz >replaced.json
		profile_has replaced.json "sums_close()" "s['count'] >= 5" \
			"note('processes', [(p['pid'], p['cgroup']) for p in d['processes']]) and $pids == {$first, $second}" \
			"sum(n for *_, n in note('others', [(p['pid'], p['cgroup'], p['samples']) for p in d['processes']
				if p['comm'] == 'inside' and p['cgroup'] != '${3#"$v2"}'])) <= 2"
	}
	check gone-cgroup replaced -G "$group/a" "$v2/$group/a"
	check gone-container replaced --container "$id12" "$v2/$group/docker-$id.scope"
	check gone-unit replaced --unit web-server "$v2/$group/web-server.service"
else
	skip nothing-cgroup "no cgroup of v2 can be made"
fi

# The process exists when lineburn starts, and has ended when sampling would begin.
exits_before_the_start() {
	start inside
	gone=$pid
	status=0
	lineburn record -vv -p "$gone" --delay 600 -d 600 -o gone.pb.gz >out 2>err &
	recorder=$!
	ends "$recorder"
	# lineburn logs this after it has read the process's mapped files.
	wait_until 60 grep -q 'unwind rows of /' err || { echo "it did not begin: $(cat err)"; return 1; }
	kill -9 "$gone"
	wait "$recorder" || status=$?
	[ $status -eq 4 ] && grep -q 'no samples' err && return 0
	echo "status $status: $(cat err)"
	return 1
}
check gone-before-start exits_before_the_start
