#!/usr/bin/env python3
"""Figures of sampling: are the answers right, and what do they cost?

usage: sampling.py LINEBURN WORK_DIRECTORY PART...

  answers   shares of programs whose answer is known, also beside perf
  cost      BPF time a sample, by depth of stack
  slowdown  how much slower a program runs while the machine is recorded
  agent     user-space CPU of "record -a -F 99" for 60 s on a busy machine

Prints Markdown. Everything is measured on whole programs from outside.
"""
import json
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import time

LINEBURN, WORK = sys.argv[1:3]
TESTS = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
WORKLOADS = os.path.join(TESTS, "workloads")
TICKS = os.sysconf("SC_CLK_TCK")
ROUNDS = 7


def build(name):
    out = os.path.join(WORK, name.split(".")[0])
    if not os.path.exists(out):
        subprocess.run(["gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-o", out,
                        os.path.join(WORKLOADS, name), "-pthread"], check=True)
    return out


def build_deep():
    """The same loop below 100 frames."""
    out = os.path.join(WORK, "deep")
    source = """
    #include <stdlib.h>
    __attribute__((noinline)) static unsigned long down(unsigned long n, unsigned depth)
    {
        unsigned long x = depth;
        if (depth) {
            x = down(n, depth - 1);
            __asm__ volatile("" : "+r"(x));
            return x + 1;
        }
        for (unsigned long i = 0; i < n; i++) x = x * 6364136223846793005UL + i;
        return x;
    }
    int main(int argc, char **argv)
    {
        (void)argc;
        return down(strtoul(argv[1], NULL, 10) * 100000000, 100) == 42;
    }
    """
    subprocess.run(["gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-x", "c", "-", "-o", out],
                   input=source, text=True, check=True)
    return out


def cpu_of(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rounds_for(program, seconds):
    """The argument with which the program takes about that much CPU here."""
    return max(1, round(seconds / (cpu_of([program, "4"]) / 4)))


def profile(options, command):
    """The JSON of a run."""
    file = os.path.join(WORK, "bench.pb.gz")
    subprocess.run([LINEBURN, "run", *options, "-o", file, "--", *command], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out = subprocess.run([LINEBURN, "annotate", "--json", "--min-percent", "0", file],
                         check=True, capture_output=True)
    return json.loads(out.stdout)


def line_of(source, word):
    with open(os.path.join(WORKLOADS, source), encoding="utf-8") as f:
        for number, text in enumerate(f, 1):
            if text.rstrip(" */\n").endswith("HOT " + word):
                return number
    raise SystemExit(f"no line of {source} is marked {word}")


def share(d, source, word, member="self"):
    number = line_of(source, word)
    n = sum(line[member] for f in d["files"] if os.path.basename(f["path"]) == source
            for line in f["lines"] if line["line"] == number)
    return 100 * n / d["samples"]["count"]


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def losses(d):
    s = d["samples"]
    due = s["count"] + s["lost"] + s["missed"]
    return f'{s["count"]:,}', f'{s["lost"]:,}', f'{s["missed"]:,} ({100 * s["missed"] / due:.1f} %)'


def perf_shares(program, argument):
    """Shares by line as perf sees them, or None where it cannot record."""
    data = os.path.join(WORK, "perf.data")
    try:
        # -B: perf 6.1 aborts over the build id of newer kernels.
        subprocess.run(["perf", "record", "-B", "-N", "-q", "-e", "cpu-clock", "-F", "999",
                        "-o", data, "--", program, str(argument)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        out = subprocess.run([sys.executable, os.path.join(TESTS, "root", "perf_lines.py"),
                              data, program], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    d = json.loads(out.stdout)
    return d["samples"], {name: 100 * n / d["samples"] for name, n in d["lines"].items()}


def answers():
    print("## Known answers\n")
    print("`run -F 999`; shares of all samples, in percent (perf: `perf record -e cpu-clock "
          "-F 999` of another run of the same program).\n")
    rows, notes = [], []
    worst = 0.0
    for source, member, expected in (
            ("hot.c", "self", {"five": 50, "three": 30, "two": 20}),
            ("inline.c", "total", {"three": 75, "one": 25})):
        program = build(source)
        argument = rounds_for(program, 6)
        d = profile(["-F", "999"], [program, str(argument)])
        theirs = perf_shares(program, argument) if source == "hot.c" else None
        if theirs:
            on_lines = sum(n for name, n in theirs[1].items() if name.startswith(source))
            notes.append(f"perf: {theirs[0]:,} samples, {on_lines:.1f} % of them on lines of {source}.")
        for word, right in expected.items():
            ours = share(d, source, word, member)
            worst = max(worst, abs(ours - right))
            at = f"{source}:{line_of(source, word)}"
            perf = f"{theirs[1].get(at, 0):.1f}" if theirs else "–"
            rows.append([f"{source}, {word} ({member})", right, f"{ours:.1f}", perf, *losses(d)])
    table(["line", "right", "lineburn", "perf", "samples", "lost", "missed"], rows)
    print(f"Farthest from right: {worst:.1f} points.", *notes, "\n")


def cost():
    print("## BPF time a sample\n")
    print("From the kernel's run-time statistics of the program, as every listing prints it. "
          "The timer interrupt itself is not in it: see the slowdown.\n")
    hot, deep = build("hot.c"), build_deep()
    rows = []
    for name, program, seconds, hz in (("2 frames", hot, 12, 99), ("2 frames", hot, 4, 999),
                                       ("100 frames", deep, 12, 99), ("100 frames", deep, 4, 999)):
        d = profile(["-F", str(hz)], [program, str(rounds_for(program, seconds))])
        c = d["cost"]
        rows.append([name, hz, f'{d["samples"]["count"]:,}', f'{c["bpf_ns_per_sample"]:,.0f} ns',
                     f'{c["bpf_cpu_percent"]:.3f} %', f'{c["map_bytes"] / 1e6:.1f} MB'])
    table(["user stack", "Hz", "samples", "BPF a sample", "BPF, of one CPU", "kernel maps"], rows)


class Recording:
    """record -a in the background."""

    def __init__(self, hz):
        self.file = os.path.join(WORK, "agent.pb.gz")
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [LINEBURN, "record", "-a", "-F", str(hz), "-o", self.file],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def cpu_seconds(self):
        """User and system time so far, of its living children too."""
        ticks = 0
        for pid in os.listdir("/proc"):
            if not pid.isdigit():
                continue
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                    fields = f.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(pid) == self.process.pid:
                ticks += sum(int(n) for n in fields[11:15])
            elif int(fields[1]) == self.process.pid:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(timeout=120)
        if status:
            raise SystemExit(f"record -a ended with status {status}")


def slowdown():
    print("## Slowdown of a program\n")
    print(f"`record -a` beside it, {ROUNDS} rounds of all variants in turn; time of the program "
          "as a ratio to the same round's time without recording; median (lowest to highest).\n")
    hot = build("hot.c")
    argument = str(rounds_for(hot, 1.5))
    ratios = {99: [], 999: []}
    cpu_ratios = {99: [], 999: []}
    plain_again = []

    def timed():
        start = time.monotonic()
        cpu = cpu_of([hot, argument])
        return time.monotonic() - start, cpu

    for _ in range(ROUNDS):
        plain = timed()
        for hz in ratios:
            recording = Recording(hz)
            time.sleep(0.7)  # it is attached by then
            wall, cpu = timed()
            recording.stop()
            ratios[hz].append(wall / plain[0])
            cpu_ratios[hz].append(cpu / plain[1])
        plain_again.append(timed()[0] / plain[0])

    def spread(values):
        return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"

    table(["variant", "wall time", "CPU time"],
          [["without recording, again", spread(plain_again), ""]] +
          [[f"record -a -F {hz}", spread(ratios[hz]), spread(cpu_ratios[hz])] for hz in ratios])


def agent():
    seconds = 60
    print("## User-space CPU of a recording\n")
    print(f"`record -a -F 99` for {seconds} s while every CPU is busy and about 100 processes a "
          "second start and end.\n")
    busy = [subprocess.Popen([build("hot.c"), "100000"]) for _ in range(os.cpu_count())]
    churn = subprocess.Popen(["sh", "-c", "while :; do /bin/true; sleep 0.01; done"])
    try:
        recording = Recording(99)
        time.sleep(1)
        start_up = recording.cpu_seconds()
        time.sleep(seconds)
        steady = recording.cpu_seconds() - start_up
        with open(f"/proc/{recording.process.pid}/status", encoding="utf-8") as f:
            rss = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
        recording.stop()
    finally:
        for process in [*busy, churn]:
            process.kill()
            process.wait()
    out = subprocess.run([LINEBURN, "annotate", "--json", recording.file], check=True,
                         capture_output=True)
    d = json.loads(out.stdout)
    total = d["cost"]["collector_cpu_ns"] / 1e9
    table(["what", "figure"], [
        ["samples, lost, missed", ", ".join(losses(d))],
        ["processes with samples", len(d["processes"])],
        ["CPU of the collector while it samples", f"{steady:.2f} s: {100 * steady / seconds:.2f} % of one core"],
        ["CPU to start", f"{start_up:.2f} s"],
        ["CPU in all, naming included", f"{total:.2f} s"],
        ["BPF a sample", f'{d["cost"]["bpf_ns_per_sample"]:,.0f} ns'],
        ["BPF, of one CPU", f'{d["cost"]["bpf_cpu_percent"]:.3f} %'],
        ["memory of the collector, peak while it samples", f"{rss / 1024:.0f} MB"],
        ["peak with naming, workers included", f'{d["cost"]["collector_peak_rss_bytes"] / 1e6:.0f} MB'],
        ["kernel memory of the maps", f'{d["cost"]["map_bytes"] / 1e6:.1f} MB'],
    ])


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


version = subprocess.run([LINEBURN, "--version"], check=True, capture_output=True, text=True).stdout
print(f"{version.strip()}, Linux {platform.release()}, {os.cpu_count()} x {processor()}, "
      f"load before: {os.getloadavg()[0]:.1f}.\n", flush=True)
for part in sys.argv[3:]:
    {"answers": answers, "cost": cost, "slowdown": slowdown, "agent": agent}[part]()
