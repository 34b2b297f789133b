"""Makes the Go that wasm2go writes faster, and lets the host end its calls. Three changes to its text:

- A function has the memory in a variable, which it reads again after each call that may grow the memory. So Go does not
  load address and length for each access.
- An access compares the address alone with the length, without its constant offset, if that is below GUARD: behind the
  length, the host has so many bytes more (instance.go). So one comparison does for all members of a struct.
- A function that calls others counts its calls, and polls the host now and then. A function that calls none can neither
  recurse nor take long. (The compiler's own way, -fsanitize-coverage, counts in the memory, and hinders inlining.)
"""

import re

GUARD = 1 << 12
CALLS = 1 << 13  # between two polls
WIDEST = 8

FUNCTION = re.compile(r"func (?:\(m \*Module\) )?(\w+)\(")
CALL = re.compile(r"\bm\.(\w+)\(|(?<![.\w])(fn\d+)\(|(m\.t0\[)|(m\._host\.)")
ACCESS = re.compile(r"\b(load|store)(16|32|64)\(mem, ")
BYTE = re.compile(r"\bmem\[uint64\((uint32\([^\]]*\))\)\+(\d{1,3})\](?! = )")
HELPER_OF_BYTES = """
func load8Near(mem []byte, addr uint32, offset uint64) byte {
	if !unalignedOK {
		return mem[uint64(addr)+offset]
	}
	_ = mem[addr]
	return *(*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(mem)), uintptr(uint64(addr)+offset)))
}
"""
HELPERS = """
func loadNear{bits}(mem []byte, addr uint32, offset uint64) uint{bits} {{
	if !unalignedOK {{
		return load{bits}(mem, uint64(addr)+offset)
	}}
	_ = mem[addr]
	val := *(*uint{bits})(unsafe.Add(unsafe.Pointer(unsafe.SliceData(mem)), uintptr(uint64(addr)+offset)))
	if big {{
		return bits.ReverseBytes{bits}(val)
	}}
	return val
}}

func storeNear{bits}(mem []byte, addr uint32, offset uint64, val uint{bits}) {{
	if !unalignedOK {{
		store{bits}(mem, uint64(addr)+offset, val)
		return
	}}
	if big {{
		val = bits.ReverseBytes{bits}(val)
	}}
	_ = mem[addr]
	*(*uint{bits})(unsafe.Add(unsafe.Pointer(unsafe.SliceData(mem)), uintptr(uint64(addr)+offset))) = val
}}
"""


def called(text):
    return {"indirect" if indirect else "host" if host else method or function
            for method, function, indirect, host in CALL.findall(text)}


def growing(functions):
    """The functions whose calls may grow the memory: those that reach the host's grow. An indirect call may."""
    found = {"indirect"} | {name for name, text in functions.items() if "m._host.Xgrow(" in text}
    calls = {name: called(text.partition("\n")[2]) for name, text in functions.items()}
    while more := {name for name, others in calls.items() if name not in found and others & found}:
        found |= more
    return found


def with_local_memory(text, grow):
    head, _, body = text.partition("\n")
    lines = []
    for line in body.split("\n"):
        lines.append(line.replace("m.memory", "mem"))
        if called(line) & grow and not line.lstrip().startswith("return"):
            if not re.match(r"\s*((t\d+(, t\d+)*|_) :?= )?m\.\w+", line):
                raise SystemExit(f"faster.py: a call has another form: {line}")
            lines.append("mem = m.memory")
    return "\n".join([head, "mem := m.memory", *lines])


def with_polls(text):
    head, _, body = text.partition("\n")
    if called(body) <= {"host"}:
        return text
    return f"{head}\nif m.calls++; m.calls%{CALLS} == 0 {{\nm._host.Xpoll()\n}}\n{body}"


def argument_end(text, at):
    """Where the argument ends that begins there."""
    depth = 0
    while depth or text[at] not in ",)":
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def with_near_accesses(text):
    done, at = [], 0
    while found := ACCESS.search(text, at):
        end = argument_end(text, found.end())
        address = re.fullmatch(r"(?:uint64\()?(uint32\(.*?\))(?:\)\+(\d+))?", text[found.end():end], re.DOTALL)
        done.append(text[at:found.start()])
        if address and int(address.group(2) or 0) <= GUARD - WIDEST:
            done.append(f"{found.group(1)}Near{found.group(2)}(mem, {address.group(1)}, {address.group(2) or 0}")
        else:
            done.append(text[found.start():end])
        at = end
    return BYTE.sub(r"load8Near(mem, \1, \2)", "".join(done) + text[at:])


def once(text, old, new):
    if text.count(old) != 1:
        raise SystemExit(f"faster.py: {old!r} is there {text.count(old)} times")
    return text.replace(old, new)


def faster(text):
    """The text of the Go file; gofmt has to format it."""
    parts = re.split(r"(?m)^(?=func )", text)
    functions = {found.group(1): part for part in parts if (found := FUNCTION.match(part))}
    grow = growing(functions)
    done = []
    for part in parts:
        if part.startswith("func (m *Module) "):
            if "m.memory" in part:
                part = with_near_accesses(with_local_memory(part, grow))
            part = with_polls(part)
        done.append(part)
    text = "".join(done) + HELPER_OF_BYTES + "".join(HELPERS.format(bits=bits) for bits in (16, 32, 64))
    text = once(text, "\n\t_host Xhost\n", "\n\t_host Xhost\n\tcalls uint32\n")
    text = once(text, "type Module struct {", f"// Guard is how many bytes the memory has behind its length.\nconst Guard = {GUARD}\n\ntype Module struct {{")
    return re.sub(r"m\.memory = make\(\[\]byte, (\w+)\)", r"m.memory = make([]byte, \1, \1+Guard)", text, count=1)
