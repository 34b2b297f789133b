#!/usr/bin/env python3
"""Leaks that were released: whether leaks finds them, and accuses nothing where they are mended. Not a test of ./dev.

    real.py BINARY FOLDER [NAME...]

FOLDER receives the packages, by pip and cargo, and the recordings. Each program runs in the version that leaks and
in the one in which that was mended, with one sample in 64 KiB and in 512 KiB, 18 windows of a second. Found: a suspect whose stack
goes through the function that is named here. Accused: any other suspect. heaptrack, where it is here: the rank of the
function among the leaks at the end. README.md has the table that this prints.
"""

import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys

WINDOWS, RATES = 18, (65536, 524288)

# Both drivers call so many times in every twentieth of a second.
PYTHON = """
import time
%s
end = time.monotonic() + %d
while time.monotonic() < end:
    for _ in range(%d):
        try:
            %s
        except (ValueError, TypeError):
            pass
    time.sleep(0.05)
"""

RUST = """
fn main() {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(%d);
    while std::time::Instant::now() < end {
        for _ in 0..%d { %s }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
"""

# name: issue; Python, or Rust's crate; what leaks, what is mended; the function; calls; setup; body
PROGRAMS = {
    "ujson": ("GHSA-wgvc-ghv9-3pmm", "3.11", "ujson==5.11.0", "ujson==5.12.0", "JSONToObj", 60,
              "import ujson; text = str(10**1000)", "ujson.loads(text)"),
    "multidict": ("aio-libs/multidict#1117", "3.11", "multidict==6.3.1", "multidict==6.4.3", "multidict", 120,
                  "from multidict import CIMultiDict; d = CIMultiDict({'a': '1', 'B': '2'})",
                  "d['a']; d.getall('b'); list(d.items()); d.copy(); d.update({'c': '3'}); d.pop('c')"),
    "frozendict": ("Marco-Sulla/python-frozendict#59", "3.10", "frozendict==2.3.2", "frozendict==2.3.3", "frozendict_repr", 60,
                   "import frozendict; d = frozendict.frozendict({i: i for i in range(100)})", "repr(d)"),
    "orjson": ("ijl/orjson 3.9.1", "3.11", "orjson==3.9.0", "orjson==3.9.1", "orjson", 100,
               "import orjson\ndef fails(value):\n    raise TypeError('x')", "orjson.dumps(object(), default=fails)"),
    "msgpack": ("GHSA-j586-36cw-2gc2", "3.11", "msgpack==1.2.2", "msgpack==1.2.3", "unpack_callback_raw", 60,
                "import msgpack; data = b'\\x81\\x01' + msgpack.packb('x' * 1000)", "msgpack.unpackb(data)"),
    "cbor2": ("agronholm/cbor2#257", "3.11", "cbor2==5.6.5", "cbor2==6.0.1", "decode_|CBORDecoder", 60,
              "import cbor2; data = b'\\xbf\\x01\\xa1\\x02\\x62\\xff\\xff\\xff'", "cbor2.loads(data)"),
    "pendulum": ("sdispater/pendulum#720", "3.10", "pendulum==2.1.2", "pendulum==3.0.0", "parse_iso8601", 400,
                 "from pendulum.parsing import parse_iso8601", "parse_iso8601('2020-99-99T99')"),
    "jq": ("jqlang/jq 1.7.1, ltrimstr", "3.11", "jq==1.4.1", "jq==1.8.0", "jv_|jq_|f_ltrimstr", 20,
           "import jq; program = jq.compile('range(100) | ltrimstr(1)')", "program.input(1).all()"),
    "ijson": ("ICRAR/ijson#34", "3.8", "ijson==3.1.1", "ijson==3.1.2.post0", "itemsgen_init", 120,
              "import io, ijson.backends.yajl2_c as y", "list(y.items(io.BytesIO(b'[1, 2, 3]'), 'item'))"),
    "awkward": ("scikit-hep/awkward#2311", "3.10", "awkward==1.10.2 numpy==1.23.5", "awkward==1.10.3 numpy==1.23.5", "awkward|_ext", 200,
                "import awkward as ak; a = ak.Array([{'x': 1, 'y': [1, 2]}])", "a['x']"),
    "bytes": ("tokio-rs/bytes#773", "", "bytes==1.10.0", "bytes==1.10.1", "leaking::main", 60, "",
              "std::hint::black_box(Vec::<u8>::from(bytes::Bytes::from_owner(vec![1u8; 1000])));"),
    "tokio-util": ("tokio-rs/tokio#4639", "", "tokio-util==0.7.1", "tokio-util==0.7.2", "CancellationToken", 800, "",
                   "let parent = tokio_util::sync::CancellationToken::new();"
                   "let child = parent.child_token().child_token(); parent.cancel(); std::hint::black_box(&child);"),
}


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def command_of(folder, name, packages):
    """Installs or builds what runs. Returns the command and its environment, or None."""
    _, python, _, _, _, calls, setup, body = PROGRAMS[name]
    at = os.path.join(folder, name + "-" + packages.split()[0].split("==")[1])
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if not python:
        os.makedirs(at + "/src", exist_ok=True)
        write(at + "/Cargo.toml", '[package]\nname = "leaking"\nversion = "0.1.0"\nedition = "2021"\n[profile.release]\ndebug = 1\n'
              '[dependencies]\n%s = "=%s"\n' % tuple(packages.split("==")))
        write(at + "/src/main.rs", RUST % (WINDOWS + 1, calls, body))
        subprocess.run(["cargo", "build", "--release"], cwd=at, **quiet)
        return [at + "/target/release/leaking"], dict(os.environ)
    found = next(iter(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{python}.*/bin/python{python}"))), None) or \
        shutil.which("python" + python)
    if not found:
        return None, None
    if not os.path.isdir(at):
        subprocess.run([found, "-m", "pip", "install", "--target", at, *packages.split()], **quiet)
    driver = write(at + ".py", PYTHON % (setup, WINDOWS + 1, calls, body))
    return [found, driver], {**os.environ, "PYTHONPATH": at}


def processor_time(arguments, environment):
    """Runs it. Returns the seconds of processor time, of this child alone."""
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
    return usage.ru_utime + usage.ru_stime


def recorded(binary, out, rate, site, command, environment):
    """Returns whether the leak is a suspect, the number of other suspects, and the processor time."""
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    seconds = processor_time([binary, "record", "-o", out, f"--rate={rate}", "--interval=1s", "--", *command], environment)
    report = subprocess.run([binary, "leaks", "--json", out], check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    suspects = [[f"{frame['function']} {frame['file']}" for frame in finding["stack"]] for run in json.loads(report)["runs"]
                for finding in run["findings"] if finding["kind"] == "suspect"]
    own = [s for s in suspects if re.search(site, "\n".join(s))]
    return bool(own), len(suspects) - len(own), seconds


def heaptrack(out, site, command, environment):
    """The rank of the function among heaptrack's leaks, and the processor time."""
    if not shutil.which("heaptrack"):
        return "no heaptrack", 0
    seconds = processor_time(["heaptrack", "-o", out, *command], environment)
    text = subprocess.run(["heaptrack_print", "--print-leaks", "1", "--print-peaks", "0", "--print-allocators", "0", *glob.glob(out + "*")],
                          check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    parts = re.split(r"\n(?=\S+ leaked over \d+ calls from\n)", text)[1:]
    return next((str(i) for i, part in enumerate(parts, 1) if re.search(site, part)), "-"), seconds


def measure(binary, folder, name):
    issue, python, bad, good, site = PROGRAMS[name][:5]
    cells = []
    for malloc in ("malloc", "default") if python else ("malloc",):
        for packages in (bad, good):
            command, environment = command_of(folder, name, packages)
            if not command:
                return f"| {name} | skipped: there is no Python {python} |"
            environment["PYTHONMALLOC"] = malloc
            if malloc == "malloc" and packages == bad:
                plain = processor_time(command, environment)
                rank, tracked = heaptrack(os.path.join(folder, name + ".heaptrack"), site, command, environment)
            for rate in RATES:
                out = os.path.join(folder, f"{name}-{malloc}-{packages == bad}-{rate}")
                found, others, seconds = recorded(binary, out, rate, site, command, environment)
                cells.append(("found" if found else "missed") + f" +{others}" * bool(others) if packages == bad else str(found + others))
                if (malloc, packages, rate) == ("malloc", bad, RATES[0]):
                    sampled = seconds
    return f"| {name} | {issue} | " + " | ".join(cells) + f" | {rank} | {sampled / plain:.2f} | {tracked / plain:.2f} |"


def main(binary, folder, *names):
    binary, folder = os.path.abspath(binary), os.path.abspath(folder)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for line in pool.map(lambda name: measure(binary, folder, name), names or PROGRAMS):
            print(line, flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
