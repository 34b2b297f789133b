"""Pyroscope 2, a running one: run.py pyroscopes PPROFDELTA

PPROFDELTA_TEST_PYROSCOPE is the URL of a Pyroscope that the tester has started on this machine, as README.md says. It has
many tenants: each request gets one of its own, so what Pyroscope has made of it can be asked for. Skipped (77) without.
"""

import base64
import collections
import concurrent.futures
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import backends
import harness
import pb
import real
import receivers
import recipes

LEAST = 1839
SECOND = 10**9
ROUTES = {"otlp": "pyroscope", "ingest": "pprof", "push": "pprof"}  # what --for is for each
TIME_OF_PROFILE = 3
TIME_OF_PPROF = 9

server = None


def prepare(_):
    global server
    server = os.environ.get("PPROFDELTA_TEST_PYROSCOPE", "").rstrip("/")
    if not server:
        raise real.Missing("PPROFDELTA_TEST_PYROSCOPE names no running Pyroscope")
    real.need("curl")


# ---- asking it ------------------------------------------------------------------------------------------

def post(path, tenant, body, **headers):
    """Returns the answer, or raises urllib.error.HTTPError."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(server + path, body, {"X-Scope-OrgID": tenant, **named})
    with urllib.request.urlopen(request, timeout=harness.TIMEOUT) as answer:
        return answer.read()


def send(route, tenant, data, name="memory"):
    """As the recipe does. Returns "takes", or why not. It is answered after the next flush: send many at once."""
    try:
        if route == "otlp":
            post("/v1development/profiles", tenant, data, Content_Type="application/x-protobuf")
        elif route == "ingest":
            config = pb.load(os.path.join(recipes.EXAMPLES, "pyroscope", "sample_types.json"))
            kind, body = backends.multipart([("profile", data), ("sample_type_config", config)])
            post("/ingest?name=shop&spyName=gospy", tenant, body, Content_Type=kind)
        else:
            labels = {"__name__": name, "service_name": "shop", "__delta__": "false"}
            sample = {"rawProfile": base64.b64encode(data).decode(), "ID": str(uuid.uuid4())}
            post("/push.v1.PusherService/Push", tenant, json.dumps({"series": [
                {"labels": [{"name": k, "value": v} for k, v in labels.items()], "samples": [sample]}]}).encode(),
                Content_Type="application/json")
    except urllib.error.HTTPError as error:
        return error.read().decode("utf-8", "replace").strip() or str(error)
    return "takes"


def ask(tenant, method, **question):
    now = int(time.time() * 1000)
    return json.loads(post(f"/querier.v1.QuerierService/{method}", tenant, json.dumps(
        {"start": str(now - 7200_000), "end": str(now + 7200_000), **question}).encode(), Content_Type="application/json"))


def label_sets(tenant):
    """Of each type, the sets of labels that it has."""
    found = collections.defaultdict(list)
    for one in ask(tenant, "Series").get("labelsSet", []):
        labels = {label["name"]: label["value"] for label in one["labels"]}
        found[labels.pop("__profile_type__")].append({k: v for k, v in labels.items() if not k.startswith("__") or k == "__name__"})
    return dict(found)


def total(tenant, kind):
    return int(ask(tenant, "SelectMergeStacktraces", profileTypeID=kind, labelSelector="{}")["flamegraph"].get("total", 0))


# ---- what check --for=pyroscope says, and what it does -----------------------------------------------------

def changed(data, place, change):
    """The message with what change() makes of each part at this place."""
    if not place:
        return change(data)
    return b"".join(pb.chunk(field, changed(data[body:end], place[1:], change)) if field == place[0] else data[begin:end]
                    for field, begin, body, end in pb.spans(data))


def now(data, is_request):
    """The same at this time, since Pyroscope takes nothing that is old."""
    at = time.time_ns()
    field, place = (TIME_OF_PROFILE, (1, 2, 2)) if is_request else (TIME_OF_PPROF, ())
    value = pb.varint(field << 3 | 1) + at.to_bytes(8, "little") if is_request else pb.number(field, at)
    try:
        return changed(data, place, lambda part: b"".join(value if number == field else part[begin:end]
                                                          for number, begin, _, end in pb.spans(part)))
    except (IndexError, AssertionError):  # it is damaged
        return data


PPROF_PLACES = [(), (1,), (2,), (2, 3), (3,), (4,), (4, 4), (5,), (11,)]


def pprofs(t):
    """What --for=pprof writes of every file that can be read, as a sum and as a window, and damaged."""
    made = set()
    for number, path in enumerate(receivers.seeds()):
        for command in (["sum"], ["--state", t.path(f"state.{number}"), "--force"]):
            ran = t.run(*command, path, "-q", "--for=pprof", "--compress=none", manners=False)
            if ran.code == 0 and ran.out:
                made.add(ran.out)
    few = sorted((one for one in made if len(one) < 20000), key=len)
    for profile in few[::max(1, len(few) // 60)]:
        made.update(receivers.mutants(profile, PPROF_PLACES))
    return sorted(made)


def agrees(t, route, datas):
    t.check(len(datas) >= LEAST, f"{len(datas)} of {route}")
    names = [t.write(f"{route}{number}", data) and f"{route}{number}" for number, data in enumerate(datas)]
    damaged, ours = receivers.refused(t, names), receivers.refused(t, names, "--for=pyroscope")
    run = uuid.uuid4().hex[:8]
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        theirs = dict(zip(names, pool.map(lambda name: send(route, f"{run}-{name}", t.load(name)), names)))
    taken = [name for name in names if theirs[name] == "takes"]
    wrong = [f"{name}: check passes it, and Pyroscope says {theirs[name]}" for name in names
             if name not in ours and theirs[name] != "takes"]
    wrong += [f"{name}: Pyroscope takes it, and check says {ours[name]}" for name in taken
              if "refuses it" in ours.get(name, "") and name not in damaged and not (route == "push" and "/ingest" in ours[name])]
    print(f"{route}: {len(names)} requests, {len(taken)} taken, {len(damaged)} damaged, "
          f"of which it takes {len([name for name in taken if name in damaged])}")
    t.equal(wrong[:9], [], f"{len(wrong)} of {len(names)} differ")


def test_check_says_what_it_does_by_otlp(t):
    agrees(t, "otlp", [now(request, True) for request in receivers.corpus(t)])


def test_check_says_what_it_does_by_ingest(t):
    agrees(t, "ingest", [now(profile, False) for profile in pprofs(t)])


def test_check_says_what_it_does_by_push(t):
    agrees(t, "push", [now(profile, False) for profile in pprofs(t)])


# ---- what it shows -------------------------------------------------------------------------------------------

NAMES = {"heap": "memory", "mutex": "mutex", "block": "block"}


def window(t, kind, receiver):
    """The window between the two bundled profiles, that ends now, and the sum of each of its types."""
    two = (os.path.join(real.root, "testdata", "valid", f"{kind}.{number}.pb.gz") for number in (1, 2))
    resource = [] if receiver == "pprof" else ["--resource", "service.name=shop"]
    t.succeeds(*two, "-q", f"--for={receiver}", "--compress=none", *resource, "-o", "made")
    t.write("window", now(t.load("made"), receiver != "pprof"))
    t.equal(t.run("check", "-q", "--for=pyroscope", "window").err, "", kind)
    shown = json.loads(t.succeeds("show", "--json", "window", manners=False).text)
    sums = {f"{one['type']}:{one['unit']}": sum(sample["values"][at] for sample in shown["samples"])
            for at, one in enumerate(shown["types"])}
    t.check(all(value >= 0 for sample in shown["samples"] for value in sample["values"]), f"{kind}: a value is negative")
    return t.load("window"), {kind: value for kind, value in sums.items() if value}


def test_names_label_sets_and_sums(t):
    for route, receiver in ROUTES.items():
        for kind, name in NAMES.items():
            data, sums = window(t, kind, receiver)
            if route == "ingest" and kind == "block":
                continue  # the recipe's sample_types.json is the one for mutex
            tenant = f"{uuid.uuid4().hex[:8]}-{route}-{kind}"
            t.equal(send(route, tenant, data, name), "takes", f"{route} {kind}")
            sets = label_sets(tenant)
            t.equal({one.split(":")[0] for one in sets}, {name}, f"{route} {kind}: its name")
            t.equal({":".join(one.split(":")[1:3]): total(tenant, one) for one in sets}, sums, f"{route} {kind}: its sums")
            most = max(len(one) for one in sets.values())
            t.check(most <= (3 if kind == "heap" else 1), f"{route} {kind}: {most} sets of labels, {sets}")
            t.check(all(one["service_name"] == "shop" for found in sets.values() for one in found), f"{sets}")


def test_late_windows(t):
    """The end of a window is its time, so one that waited is taken; one that ended 2 hours ago is not, and check says so."""
    def ago(hours):
        return int(time.time() - hours * 3600) * SECOND

    for receiver, route in (("pyroscope", "otlp"), ("pprof", "push"), ("pprof", "ingest")):
        for end, is_taken in ((0, True), (0.9, True), (2, False)):
            for number, hours in enumerate((26, end)):
                t.write(f"look.{number}", pb.profile([(("f", "main"), [5 + number, 64, 1, 8])], time=ago(hours),
                                                     period_type="space/bytes", period=512))
            t.succeeds("look.0", "look.1", "-q", f"--for={receiver}", "--compress=none", "-o", "late")
            said, checked = send(route, uuid.uuid4().hex, t.load("late")), t.run("check", "-q", "--for=pyroscope", "late")
            t.equal((said == "takes", checked.code == 0), (is_taken, is_taken), f"{route}: {end} hours: {said}: {checked.err}")
            t.check(is_taken or "outside of ingestion window" in said, f"{route}: {said}")


# ---- the recipes -------------------------------------------------------------------------------------------------

def test_recipes(t):
    """Each as it is there, with runs that fail in between and a restart. The curl of the tenant has its name."""
    for script in ("otlp.sh", "push.sh", "ingest.sh"):
        world, tenant = recipes.World(), f"{uuid.uuid4().hex[:8]}-{script[:-3]}"
        t.write(".curlrc", f'header = "X-Scope-OrgID: {tenant}"\n'.encode())
        try:
            world.receiver = "fails"
            recipe = recipes.Recipe(t, world, f"pyroscope/{script}", RECEIVER=server, STATE=t.path(script + ".state"))
            recipes.windows(recipe, lambda url=world.url: {"RECEIVER": url})
            [kind] = [one for one in label_sets(tenant) if one.startswith("memory:alloc_space:bytes:")]
            t.equal(total(tenant, kind), sum(world.program.space().values()), script)
        finally:
            world.end()
