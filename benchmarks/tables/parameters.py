"""Parameters of the papers' tables: those that follow from what the program says of a cell, and operations of HEK12 Table 2.

A definition that counts names one of them as `program`, with its arguments. All others are the program's own
(`vesica bench describe`), which derives them.
"""

import math

OPERATIONS = ("short-exponents", "medium-exponents", "long-exponents", "inverses", "multiplications", "hashes")

# Items whose inverses cost one.
INVERTED = 64

LEVEL = 80


def dt_dl(items):
    """Operations of `dt-dl` on so many items a side, by the formulas of its page. Half of its powers are of fixed bases."""
    return {
        "long-exponents": 4 * items + 2,
        "inverses": 2 * math.ceil(items / INVERTED),
        "multiplications": 12 * items,
        "hashes": 4 * items,
    }


def dt_rsa(items):
    """Those of `dt-rsa` at level 80, whose proof has t = ⌈80 / log2 3⌉ roots."""
    powers = 2 * items + math.ceil(LEVEL / math.log2(3))
    return {
        "short-exponents": powers,
        "long-exponents": powers,
        "inverses": math.ceil(items / INVERTED),
        "multiplications": 5 * items,
        "hashes": 4 * items,
    }


def garbled(gates):
    """Those of a garbled circuit at level 80.

    A base OT takes four powers, and one is for all of them. A gate is hashed four times by the garbler and twice by the
    evaluator, one with a private bit half as often.
    """
    return {"medium-exponents": 4 * LEVEL + 1, "hashes": 6 * gates["ands"] + 3 * gates["private_ands"]}


NATIVE = ("protocol", "receiver", "sender", "sigma")
ARGUMENTS = {
    "dt-dl": ("operation", "items"),
    "dt-rsa": ("operation", "items"),
    "garbled": ("operation", "protocol", "items"),
    # What a gate with a private bit of the sender counts: 1 in PSSZ15, a third in HEK12.
    "and-gates": (*NATIVE, "private_gate"),
    "mebibytes": NATIVE,
    # AND gates on the longest path of a circuit: its rounds under GMW.
    "depth": NATIVE,
}


def question(table):
    """What to ask the program, if anything, and how the value follows from its answer.

    A TypeError or ValueError says that the arguments do not fit.
    """
    name = table.get("program")
    if name not in ARGUMENTS:
        return {"parameter": table}, lambda answer: answer["value"]
    given = {argument: value for argument, value in table.items() if argument != "program"}
    if set(given) != set(ARGUMENTS[name]):
        raise ValueError(f"{name} takes {', '.join(ARGUMENTS[name])}, not {', '.join(given)}")
    for argument in {"items", "receiver", "sender", "sigma"} & set(given):
        if type(given[argument]) is not int or given[argument] < 1:
            raise ValueError(f"{argument} is {given[argument]!r}, and not a number from 1 on")
    if type(given.get("private_gate", 1)) not in (int, float) or not isinstance(given.get("protocol", ""), str):
        raise ValueError("private_gate is a number, and protocol a name")
    operation = given.get("operation", OPERATIONS[0])
    if operation not in OPERATIONS:
        raise ValueError(f"no operation {operation!r}")
    if name in ("dt-dl", "dt-rsa"):
        counts = (dt_dl if name == "dt-dl" else dt_rsa)(given["items"])
        return None, lambda _: counts.get(operation, 0)
    if name == "garbled":
        cell = {"protocol": given["protocol"], "receiver": given["items"], "sender": given["items"], "level": LEVEL}
        return {"circuit": cell}, lambda answer: garbled(answer).get(operation, 0)
    cell = {argument: given[argument] for argument in NATIVE}
    if name == "mebibytes":
        return {"cell": cell}, lambda answer: answer["bytes"] / 2**20
    if name == "depth":
        return {"circuit": cell}, lambda answer: answer["depth"] or 0
    return {"circuit": cell}, lambda answer: answer["ands"] + given["private_gate"] * answer["private_ands"]
