"""Runs PTX, the language between CUDA and machine code, a thread at a time: as much of it as the kernels use.

Each function becomes one of Python, a block of it for every label. What a thread does that others could notice goes into
a trace: every branch, taken or not, and the address of every load and store.
"""

import re

MASK = {8: 0xFF, 16: 0xFFFF, 32: 0xFFFFFFFF, 64: 0xFFFFFFFFFFFFFFFF}
# Where the memory that all threads share begins, and that of a thread.
GLOBAL, LOCAL = 1 << 32, 1 << 40

# a op b for the instructions that are one operator.
OPERATORS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "min": None}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


class Machine:
    """The functions of a text, and memory."""

    def __init__(self, ptx):
        self.memory, self.local, self.trace = bytearray(), bytearray(), []
        self.functions, self.parameters = {}, {}
        ptx = re.sub(r"//.*", "", ptx)
        header = r"^(?:\.visible )?\.(?:func|entry)\s+(?:\([^)]*\)\s*)?(?P<name>\w+)\((?P<parameters>[^)]*)\)"
        for match in re.finditer(header + r"[^{;]*\{(?P<body>.*?)^\}", ptx, re.MULTILINE | re.DOTALL):
            names = re.findall(r"(\w+)(?:\[\d+\])?\s*(?:,|$)", match["parameters"])
            self.parameters[match["name"]] = names
            source = translate(match["body"])
            scope = {"machine": self}
            exec(compile(source, match["name"], "exec"), scope)
            self.functions[match["name"]] = scope["function"]

    def call(self, name, buffers):
        """Runs a function on buffers with its parameters; the buffer of its result."""
        parameters = dict(zip(self.parameters[name], buffers, strict=True))
        parameters["func_retval0"] = bytearray(256)
        self.functions[name](parameters)
        return parameters["func_retval0"]

    def launch(self, name, arguments, number):
        """Runs thread `number` of a kernel; arguments are integers (a word or an address) or bytes."""
        self.trace, self.local, self.number = [], bytearray(), number
        wide = [a if isinstance(a, bytes) else a.to_bytes(8, "little") for a in arguments]
        self.call(name, [bytearray(argument) for argument in wide])

    def put(self, data):
        """The address of bytes, which end at a multiple of 16."""
        address = GLOBAL + len(self.memory)
        self.memory += data + bytes(-len(data) % 16)
        return address

    def depot(self, size):
        address = LOCAL + len(self.local)
        self.local += bytes(size)
        return address

    def find(self, address):
        return (self.local, address - LOCAL) if address >= LOCAL else (self.memory, address - GLOBAL)

    def load(self, address, size):
        self.trace.append(address)
        memory, at = self.find(address)
        assert 0 <= at <= len(memory) - size, "a load beyond memory"
        return int.from_bytes(memory[at : at + size], "little")

    def store(self, address, size, value):
        self.trace.append(~address)
        memory, at = self.find(address)
        assert 0 <= at <= len(memory) - size, "a store beyond memory"
        memory[at : at + size] = value.to_bytes(size, "little")


def operand(text):
    """An operand as an expression."""
    text = text.strip()
    special = {"%tid.x": "machine.number", "%ctaid.x": "0", "%ntid.x": "1"}
    if text in special:
        return special[text]
    return text.replace("%", "") if text.startswith("%") else text


def signed(value, bits):
    """A register or a number as a signed one."""
    if value.lstrip("-").isdigit():
        return value
    return f"(({value} ^ {1 << (bits - 1)}) - {1 << (bits - 1)})"


def address(text):
    return " + ".join(operand(part) for part in text.strip("[] ").split("+"))


def translate(body):
    """A function of Python that does what the body of a function does."""
    depot = re.search(r"\.local .*__local_depot\d+\[(\d+)\]", body)
    lines = ["def function(P):", "    carry = pc = 0"]
    if depot:
        # A thread's own memory, freed by nobody: a run is short.
        lines.append(f"    depot = machine.depot({depot.group(1)})")
    lines += ["    while True:", "        if pc == 0:"]
    declarations = r"\.(?:local|reg|pragma|param) .*?;"
    body = re.sub(declarations, lambda match: buffer_of(match.group(0)), body)
    body = re.sub(r"^\s*[{}]\s*$", "", body, flags=re.MULTILINE)
    labels = {label: i + 1 for i, label in enumerate(re.findall(r"^(\$\w+):", body, re.MULTILINE))}
    blocks = len(labels)
    for part in re.split(r"(?<=:)\n|;", body):
        part = " ".join(part.split())
        if not part:
            continue
        if part.endswith(":"):
            lines += [f"            pc = {labels[part[:-1]]}", f"        if pc == {labels[part[:-1]]}:"]
            continue
        lines += ["            " + line for line in statement(part, labels)]
        if re.match(r"@!?%p\d+ bra", part):
            blocks += 1
            lines += [f"            pc = {blocks}", f"        if pc == {blocks}:"]
    return "\n".join([*lines, "            return"])


def buffer_of(declaration):
    """A buffer for a parameter of a call; other declarations are not needed."""
    match = re.match(r"\.param .*?(param\d+|retval\d+)(?:\[\d+\])?;", declaration)
    return f"buffer {match.group(1)};" if match else ""


def statement(text, labels):
    """The lines for one instruction."""
    if text.startswith("buffer "):
        return [f"P['{text.split()[1]}'] = bytearray(256)"]
    if match := re.match(r"@(!?)%(p\d+) bra (\$\w+)", text):
        condition = f"not {match[2]}" if match[1] else match[2]
        taken = [f"if {condition}:", f"    pc = {labels[match[3]]}", "    continue"]
        return [f"machine.trace.append(bool({condition}))", *taken]
    if match := re.match(r"bra(?:\.uni)? (\$\w+)", text):
        return [f"pc = {labels[match[1]]}", "continue"]
    if text == "ret":
        return ["return"]
    if match := re.match(r"call(?:\.uni)?\s*(?:\((\w+)\)\s*,)?\s*(\w+)\s*,\s*\((.*)\)", text, re.DOTALL):
        buffers = ", ".join(f"P['{name.strip()}']" for name in match[3].split(","))
        result = f"P['{match[1]}'] = " if match[1] else ""
        return [f"{result}machine.call('{match[2]}', [{buffers}])"]
    guard = re.match(r"@(!?)%(p\d+) ", text)
    assert not guard, f"no guarded instruction but branches: {text}"
    code, rest = text.split(None, 1)
    parts = code.split(".")
    operands = [o.strip() for o in re.split(r",(?![^{]*\})", rest)]
    if parts[0] in ("ld", "st"):
        return memory(parts, operands)
    if parts[0] == "atom":
        # atom.global.min.u32: nobody else is there.
        target, where, value = operands
        size, place = int(parts[-1][1:]) // 8, address(where)
        return [
            f"{operand(target)} = machine.load({place}, {size})",
            f"machine.store({place}, {size}, min({operand(target)}, {operand(value)}))",
        ]
    return arithmetic(parts, operand(operands[0]), [operand(o) for o in operands[1:]])


def memory(parts, operands):
    """Loads and stores, also of several registers."""
    size = int(parts[-1][1:]) // 8
    loads = parts[0] == "ld"
    registers, where = operands if loads else reversed(operands)
    lines = []
    for i, register in enumerate(r.strip() for r in registers.strip("{}").split(",")):
        if parts[1] == "param":
            name, _, offset = where.strip("[]").partition("+")
            at = int(offset or 0) + i * size
            place = f"P['{name}'][{at}:{at + size}]"
            read = f"int.from_bytes({place}, 'little')"
            write = f"{place} = ({operand(register)} & {MASK[8 * size]}).to_bytes({size}, 'little')"
        else:
            place = f"{address(where)} + {i * size}"
            read = f"machine.load({place}, {size})"
            write = f"machine.store({place}, {size}, {operand(register)} & {MASK[8 * size]})"
        lines.append(f"{operand(register)} = {read}" if loads else write)
    return lines


def arithmetic(parts, to, of):
    """One instruction on registers."""
    kind, last = parts[0], parts[-1]
    bits = int(last[1:]) if last[1:].isdigit() else 0
    mask = MASK.get(bits, 0)
    if kind in ("add", "addc", "sub", "subc", "mad", "madc") and (kind.endswith("c") or "cc" in parts):
        incoming = " + carry" if kind.endswith("c") else ""
        if kind.startswith("mad"):
            product = f"({of[0]} * {of[1]} >> 32)" if "hi" in parts else f"({of[0]} * {of[1]} & {mask})"
            value = f"{product} + {of[2]}{incoming}"
        else:
            value = f"{of[0]} - ({of[1]}{incoming})" if kind.startswith("sub") else f"{of[0]} + {of[1]}{incoming}"
        return [f"{to} = {value}", *(["carry = " + to + " >> 32 & 1"] if "cc" in parts else []), f"{to} &= {mask}"]
    if kind in ("mov", "cvta", "not", "neg", "abs", "cvt"):
        value = of[0]
        if value.startswith("__local_depot"):
            value = "depot"
        if kind == "cvt" and parts[1][0] == "s" and last[0] == "s":
            value, mask = signed(value, bits), MASK[int(parts[1][1:])]
        elif kind == "cvt":
            mask = MASK[int(parts[1][1:])]
        elif kind == "abs":
            value = f"abs({signed(value, bits)})"
        value = {"not": f"~{value}", "neg": f"-{value}"}.get(kind, value)
        return [f"{to} = {value}" + (f" & {mask}" if mask and kind not in ("cvta",) else "")]
    if kind in OPERATORS and OPERATORS[kind]:
        return [f"{to} = ({of[0]} {OPERATORS[kind]} {of[1]})" + (f" & {mask}" if last != "pred" else "")]
    if kind == "min":
        return [f"{to} = min({of[0]}, {of[1]})"]
    if kind in ("mul", "mad"):
        value = f"{of[0]} * {of[1]}"
        if "wide" in parts:
            value = f"{signed(of[0], bits)} * {signed(of[1], bits)}" if last[0] == "s" else value
            mask = MASK[2 * bits]
        elif "hi" in parts:
            value = f"({value} >> {bits})"
        return [f"{to} = ({value}" + (f" + {of[2]}" if kind == "mad" else "") + f") & {mask}"]
    if kind in ("shl", "shr"):
        value = signed(of[0], bits) if last[0] == "s" else of[0]
        return [f"{to} = ({value} {'<<' if kind == 'shl' else '>>'} min({of[1]}, {bits})) & {mask}"]
    if kind == "shf":
        both, by = f"({of[1]} << 32 | {of[0]})", f"({of[2]} & 31)"
        assert parts[2] == "wrap", parts
        return [f"{to} = {both} << {by} >> 32 & {mask}" if parts[1] == "l" else f"{to} = {both} >> {by} & {mask}"]
    if kind == "setp":
        values = [signed(value, bits) if last[0] == "s" else f"({value} & {mask})" for value in of]
        return [f"{to} = {values[0]} {COMPARISONS[parts[1]]} {values[1]}"]
    if kind == "selp":
        return [f"{to} = ({of[0]} if {of[2]} else {of[1]}) & {mask}"]
    raise NotImplementedError(".".join(parts))
