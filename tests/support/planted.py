"""The catalogue of privacy bugs that tests plant, each by itself, and must catch: what somebody could get wrong."""

# ruff: noqa: E501 - texts to replace are quoted as they stand

from tests.support.planting import Bug

DEVICE, BULK, DRAWS, COMMAND = "client", "kernels.perturb", "reports.randomness", "cli.reports_and_counts"

CATALOGUE: dict[str, Bug] = {
    # -- where the device's randomness comes from
    "one byte of randomness repeated": Bug(
        DEVICE, "return report_from(os.urandom, ", "return report_from(lambda n: os.urandom(n)[:1] * n, "
    ),
    "one byte of randomness for both halves of a draw": Bug(
        DEVICE, "return report_from(os.urandom, ", "return report_from(lambda n: os.urandom(n // 2) * 2, "
    ),
    "no randomness": Bug(DEVICE, "return report_from(os.urandom, ", "return report_from(bytes, "),
    "a seeded generator": Bug(
        DEVICE, "return report_from(os.urandom, ", "return report_from(__import__('random').Random(1).randbytes, "
    ),
    "a generator of another kind": Bug(
        DEVICE, "return report_from(os.urandom, ", "return report_from(__import__('random').randbytes, "
    ),
    "randomness from the answers": Bug(
        DEVICE,
        "return report_from(os.urandom, ",
        "return report_from(__import__('random').Random(repr(sorted(record.items()))).randbytes, ",
    ),
    "one draw kept for all reports": Bug(
        DEVICE,
        "return report_from(os.urandom, ",
        "return report_from(functools.lru_cache(lambda n: os.urandom(n)), ",
    ),
    "all flags share one draw": Bug(
        DEVICE,
        "    blocks, position = checked.arms[bits]",
        "    source = functools.lru_cache(source)\n    blocks, position = checked.arms[bits]",
    ),
    "an arm by another generator": Bug(
        DEVICE, "arm_number(checked, None, os.urandom)", "arm_number(checked, None, __import__('random').randbytes)"
    ),
    "low bytes of draws alone": Bug(
        DEVICE,
        'return struct.unpack(f"<{count}H", source(2 * count))',
        'return tuple(d & 255 for d in struct.unpack(f"<{count}H", source(2 * count)))',
    ),
    "draws of eight bits": Bug(
        DEVICE,
        'return struct.unpack(f"<{count}H", source(2 * count))',
        "return tuple(257 * byte for byte in source(count))",
    ),
    "one draw for all values of unary encoding": Bug(
        DEVICE, "zip(columns, _draws(source, m), strict=True)", "zip(columns, _draws(source, 1) * m, strict=True)"
    ),
    "neighbouring values share a draw": Bug(
        DEVICE,
        "zip(columns, _draws(source, m), strict=True)",
        "zip(columns, (draw for draw in _draws(source, -(-m // 2)) for _ in range(2)), strict=False)",
    ),
    "every question from the same draws": Bug(
        DEVICE,
        "    for block, code in zip(blocks, codes, strict=True):\n        field, width = PERTURB",
        "    stream = source(1 << 12)\n"
        "    for block, code in zip(blocks, codes, strict=True):\n"
        "        source = __import__('io').BytesIO(stream).read\n"
        "        field, width = PERTURB",
    ),
    "values in the middle of two questions share draws": Bug(
        DEVICE,
        "    for block, code in zip(blocks, codes, strict=True):\n        field, width = PERTURB",
        "    fresh, drawn = source, source(1 << 12)\n"
        "    for block, code in zip(blocks, codes, strict=True):\n"
        "        middle = {*range(2, 2 * block.m - 2)} - {2 * code, 2 * code + 1}\n"
        "        source = lambda n: bytes(drawn[k] if k in middle else own for k, own in enumerate(fresh(n)))\n"
        "        field, width = PERTURB",
    ),
    "draws the other way round": Bug(DEVICE, 'struct.unpack(f"<{count}H"', 'struct.unpack(f">{count}H"'),
    # -- what the device does with draws
    "thresholds inclusive": Bug(DEVICE, '(draw < protocol["q" if', '(draw <= protocol["q" if'),
    "p and q swapped": Bug(
        DEVICE, 'protocol["q" if column == code else "p"]', 'protocol["p" if column == code else "q"]'
    ),
    "q for every value": Bug(DEVICE, 'protocol["q" if column == code else "p"]', 'protocol["q"]'),
    "the true value always marked": Bug(
        DEVICE, '(draw < protocol["q" if column == code else "p"])', '(column == code or draw < protocol["p"])'
    ),
    "the last value unrandomized": Bug(
        DEVICE,
        '(draw < protocol["q" if column == code else "p"])',
        '((column == code) if place == m - 1 and m > 1 else draw < protocol["q" if column == code else "p"])',
    ),
    "a flag's code ignored": Bug(DEVICE, "range(m) if m > 1 else range(1, 2)", "range(m)"),
    "the answer kept too often": Bug(
        DEVICE, '(code if coin < protocol["keep"] else other)', '(code if coin <= protocol["keep"] else other)'
    ),
    "the answer always kept": Bug(DEVICE, '(code if coin < protocol["keep"] else other)', "code"),
    "the answer never replaced by itself": Bug(
        DEVICE,
        '(code if coin < protocol["keep"] else other)',
        '(code if coin < protocol["keep"] else (other + (other == code)) % m)',
    ),
    "the coin and the other value from one draw": Bug(
        DEVICE, "other = _uniform(m, source)  #", "other = coin * m // SCALE  #"
    ),
    "no other value drawn when the answer is kept": Bug(
        DEVICE,
        "other = _uniform(m, source)  #",
        'other = code if coin < protocol["keep"] else _uniform(m, source)  #',
    ),
    "uniform values by remainder": Bug(
        DEVICE, "if draw < share * m:\n            return draw // share", "if m:\n            return draw % m"
    ),
    "nothing drawn again": Bug(DEVICE, "if draw < share * m:", "if m:"),
    "a set always with the answer": Bug(
        DEVICE, 'chosen[-1] = code if coin < protocol["q"] else chosen[-1]', "chosen[-1] = code"
    ),
    "a set with the answer too often": Bug(
        DEVICE, 'code if coin < protocol["q"] else', 'code if coin <= protocol["q"] else'
    ),
    "the first values in every set": Bug(DEVICE, "at = place + _uniform(m - 1 - place, source)", "at = place"),
    "sets of values side by side": Bug(
        DEVICE,
        "        at = place + _uniform(m - 1 - place, source)\n        others[place], others[at] = others[at], others[place]\n",
        "        at = at if place else _uniform(m - 1, source)\n        others[place] = (at + place) % (m - 1)\n",
    ),
    "sets that show who was left out": Bug(
        DEVICE,
        "[other + (other >= code) for other in others[:size]]",
        "[other + (other > code) for other in others[:size]]",
    ),
    "a hash without a seed": Bug(
        DEVICE, "seed = [_coefficient(source) for _ in range(COEFFICIENTS)]", "seed = [1, 1, 0, 0]"
    ),
    "one coefficient for all places": Bug(
        DEVICE,
        "seed = [_coefficient(source) for _ in range(COEFFICIENTS)]",
        "seed = [_coefficient(source)] * COEFFICIENTS",
    ),
    "the answer in the hash's spare bit": Bug(
        DEVICE,
        'packed = int.from_bytes(struct.pack(f"<{COEFFICIENTS}I", *seed), "little")',
        'packed = int.from_bytes(struct.pack(f"<{COEFFICIENTS}I", *seed), "little") | (code > 0) << 31',
    ),
    "the bucket unrandomized": Bug(
        DEVICE,
        'field, width = _grr(h * protocol["buckets"] // PRIME, protocol["buckets"], protocol, source)',
        'field, width = h * protocol["buckets"] // PRIME, (protocol["buckets"] - 1).bit_length()',
    ),
    "the last question unrandomized beyond 8": Bug(
        DEVICE,
        "        bits |= field << position\n",
        "        field = code if len(codes) > 8 and block is blocks[-1] else field\n        bits |= field << position\n",
    ),
    "the last question unrandomized": Bug(
        DEVICE,
        "        bits |= field << position\n",
        "        field = code if block is blocks[-1] and len(codes) > 1 else field\n        bits |= field << position\n",
    ),
    "the last answer in the padding": Bug(
        DEVICE,
        'return bits.to_bytes(checked.length, "little")',
        'return (bits | (codes[-1] & 1) << 8 * checked.length - 1).to_bytes(checked.length, "little")',
    ),
    "a report as long as its arm": Bug(
        DEVICE, 'return bits.to_bytes(checked.length, "little")', 'return bits.to_bytes((position + 7) // 8, "little")'
    ),
    "the arm by the answer": Bug(
        DEVICE,
        "    blocks, position = checked.arms[bits]",
        "    bits = (bits + (record.get('c') == 'v2')) % len(checked.arms)\n    blocks, position = checked.arms[bits]",
    ),
    "the first arm always": Bug(DEVICE, "if len(plan.arms) > 1 else 0", "if len(plan.arms) > 99 else 0"),
    "shares off by one": Bug(DEVICE, "bisect.bisect_right(plan.bounds,", "bisect.bisect_left(plan.bounds,"),
    "all answers looked at": Bug(
        DEVICE,
        "    codes = [code_of(block, record) for block in blocks]",
        "    codes = [code_of(block, dict(record.items())) for block in blocks]",
    ),
    # -- what the device agrees to
    "a fingerprint by its first 8 digits": Bug(
        DEVICE,
        "_need(expect in (None, checked.fingerprint), whole",
        "_need(expect is None or expect[:8] == checked.fingerprint[:8], whole",
    ),
    "a fingerprint that begins like the right one": Bug(
        DEVICE,
        "_need(expect in (None, checked.fingerprint), whole",
        "_need(expect is None or checked.fingerprint.startswith(expect), whole",
    ),
    "no expected fingerprint": Bug(DEVICE, "_need(expect in (None, checked.fingerprint), whole", "_need(True, whole"),
    "a ceiling for each answer": Bug(
        DEVICE,
        "_need(checked.epsilon <= at_most,",
        "_need(all(math.log(b.ratio) <= at_most for a in checked.arms for b in a),",
    ),
    "a ceiling that is passed": Bug(
        DEVICE, "_need(checked.epsilon <= at_most,", "_need(checked.epsilon < at_most + 1,"
    ),
    "a ceiling of 80": Bug(DEVICE, "at_most: float = 8.0", "at_most: float = 80.0"),
    "public columns unasked": Bug(DEVICE, "if name not in agreed]\n", "if not name]\n"),
    "public columns by a part of their names": Bug(
        DEVICE,
        "if name not in agreed]\n",
        "if not any(one.startswith(name) or name.startswith(one) for one in agreed)]\n",
    ),
    "public columns in other letters": Bug(
        DEVICE, "if name not in agreed]\n", "if name.lower() not in [one.lower() for one in agreed]]\n"
    ),
    "texts in another order let through": Bug(DEVICE, "(re.search(TURNS, text) or not CONTROL", "(not CONTROL"),
    "a hash without its cube in bulk": Bug(BULK, "    return seed\n", "    seed[:, 3] = 0\n    return seed\n"),
    "a shuffle by one draw": Bug(
        BULK,
        "steps[place] = _uniform(len(block), values - 1 - place, draws)",
        "steps[place] = _uniform(len(block), values - 1 - place, draws) if not place else steps[0] % (values - 1 - place)",
    ),
    "the answer looked at before the plan": Bug(
        DEVICE,
        "    checked = read(plan)\n    names = isinstance(public, Iterable)",
        "    os.urandom(2)\n    checked = read(plan)\n    names = isinstance(public, Iterable)",
    ),
    "a stated fingerprint believed": Bug(
        DEVICE, '    _check_stated(document, "fingerprint", fingerprint(document))\n', ""
    ),
    "a stated epsilon believed": Bug(
        DEVICE, '    _check_stated(document, "epsilon", log_up([_largest(arms, SCALE)]))\n', ""
    ),
    "the epsilon of the smallest arm": Bug(
        DEVICE, "return max(math.prod([ratio(block.protocol", "return min(math.prod([ratio(block.protocol"
    ),
    "a fingerprint without the arms": Bug(
        DEVICE, "for key in MEANING if key in plan", "for key in MEANING[:2] if key in plan"
    ),
    "a fingerprint without how answers are kept": Bug(
        DEVICE, "for key in MEANING if key in plan", "for key in MEANING[:4] if key in plan"
    ),
    "q below p": Bug(DEVICE, '_need("p" not in wanted or p < q,', '_need("p" not in wanted or p,'),
    "probabilities of nothing and everything": Bug(
        DEVICE,
        "right = type(protocol[key]) is int and least <= protocol[key] <= most",
        "right = type(protocol[key]) is int",
    ),
    "one side of randomized response": Bug(DEVICE, "return max(one, zero) if", "return one if"),
    "public in some arms": Bug(DEVICE, "_need(len(public) == 1, ", "_need(public, "),
    "unknown keys let through": Bug(DEVICE, '_need(not unknown, f"a plan has no', '_need(True, f"a plan has no'),
    "names that look alike let through": Bug(DEVICE, "_need(not look_alike(texts),", "_need(True,"),
    # -- what the device says
    "answers printed to stderr": Bug(
        DEVICE,
        "    codes = [code_of(block, record) for block in blocks]",
        "    codes = [code_of(block, record) for block in blocks]\n    print([record.get(f['name']) for b in blocks for f in b.features], file=__import__('sys').stderr)",
    ),
    "an answer quoted in an error": Bug(
        DEVICE,
        'f"column {name!r}: the answer is not one of its values',
        'f"column {name!r}: the answer {answer!r} is not one of its values',
    ),
    "an answer's type and content quoted": Bug(
        DEVICE, 'takes text or a number, and got another type")', 'takes text or a number, and got {answer}")'
    ),
    "a promise rounded down": Bug(DEVICE, "math.ceil(100 * ratio", "math.floor(100 * ratio"),
    "a promise of one answer for the report": Bug(
        DEVICE,
        "_largest(checked.arms, SCALE), len(checked.arms)",
        "max(ratio(b.protocol, b.m, SCALE) for arm in checked.arms for b in arm), len(checked.arms)",
    ),
    "what is public left out of the promise": Bug(
        DEVICE,
        "for block in checked.arms[0] if block.public)\n    lines",
        "for block in checked.arms[0][:0])\n    lines",
    ),
    # -- randomizing in bulk
    "a seed in bulk": Bug("reports.randomize", "secure() if rng is None else", "seeded(1) if rng is None else"),
    "a fixed key": Bug(DRAWS, "algorithms.AES(os.urandom(32))", "algorithms.AES(bytes(32))"),
    "a key of one byte": Bug(DRAWS, "algorithms.AES(os.urandom(32))", "algorithms.AES(os.urandom(1) * 32)"),
    "the counter from zero and a short key": Bug(DRAWS, "modes.CTR(os.urandom(16))", "modes.CTR(bytes(16))"),
    "no cipher": Bug(
        DRAWS, "        stream.update_into(zeros[:size], keystream.data)\n", "        keystream[:] = 77\n"
    ),
    "bytes of the keystream repeated": Bug(
        DRAWS, 'return keystream[:size].view("<u2")', 'return np.repeat(keystream[: size // 2], 2).view("<u2")'
    ),
    "half of each batch repeated": Bug(
        DRAWS,
        'return keystream[:size].view("<u2")',
        'return np.resize(keystream[:size].view("<u2")[: (count + 1) // 2], count)',
    ),
    "one record's draws for the next": Bug(
        DRAWS, 'return keystream[:size].view("<u2")', 'return np.repeat(keystream[:size].view("<u2")[::2], 2)[:count]'
    ),
    "draws without their highest bit": Bug(
        DRAWS, 'return keystream[:size].view("<u2")', 'return keystream[:size].view("<u2") & np.uint16(0x7FFF)'
    ),
    "thresholds inclusive in bulk": Bug(BULK, "bits = draw < high", "bits = draw <= high"),
    "p inclusive in bulk": Bug(BULK, "bits |= draw < low", "bits |= draw <= low"),
    "one draw for all columns in bulk": Bug(
        BULK,
        "        for plane, column in zip(planes, columns, strict=True):\n            draw = draws(len(block))\n",
        "        draw = draws(len(block))\n        for plane, column in zip(planes, columns, strict=True):\n",
    ),
    "truth shown in bulk": Bug(BULK, "            bits &= block == column\n", "            bits = block == column\n"),
    "the first block's draws for all": Bug(
        BULK,
        "            draw = draws(len(block))\n            bits",
        "            draw = (draws(len(block)) if start == 0 else draw)[: len(block)]\n            bits",
    ),
    "the coin inclusive in bulk": Bug(BULK, "coin = draws(len(codes)) < keep", "coin = draws(len(codes)) <= keep"),
    "one coin for all records": Bug(BULK, "coin = draws(len(codes)) < keep", "coin = (draws(1) < keep) | (codes < 0)"),
    "remainders in bulk": Bug(BULK, "codes = draws(count) // share\n", "codes = draws(count) % np.uint16(outcomes)\n"),
    "one other value for all records": Bug(
        BULK, "_uniform(len(codes), outcomes, draws))", "_uniform(1, outcomes, draws)[0])"
    ),
    "the coin of sets inclusive in bulk": Bug(BULK, "< np.uint16(q)", "<= np.uint16(q)"),
    "one seed for all records": Bug(BULK, "    return seed\n", "    return np.repeat(seed[:1], count, axis=0)\n"),
    "one coefficient in bulk": Bug(
        BULK, "    return seed\n", "    return np.repeat(seed[:, :1], COEFFICIENTS, axis=1)\n"
    ),
    "the last question unrandomized in bulk": Bug(
        "reports.randomize",
        "field.arrays(block.protocol.randomize(codes, draws), len(codes))",
        "field.arrays(codes if block is plan.blocks[-1] and block.protocol.name == 'GRR' else block.protocol.randomize(codes, draws), len(codes))",
    ),
    "the same draws for every question in bulk": Bug(
        "reports.randomize",
        "    arrays: dict[str, Any] = {}\n    for block",
        "    arrays: dict[str, Any] = {}\n    kept: Any = {}\n    fresh, draws = draws, lambda n: kept[n] if n in kept else kept.setdefault(n, fresh(n))\n    for block",
    ),
    "arms drawn evenly": Bug(
        "reports.arm_answers",
        "    return arms[draws(count)]\n",
        "    return (draws(count) % len(plan.shares)).astype(np.uint16)\n",
    ),
    "arms dealt in turn": Bug(
        "reports.arm_answers",
        "    return arms[draws(count)]\n",
        "    return arms[np.arange(count) * 65536 // max(count, 1)] if draws(1).size else arms\n",
    ),
    # -- the command line
    "the command line draws from a seed": Bug(
        COMMAND,
        "arguments.answers, plan, output=arguments.output,",
        "arguments.answers, plan, rng=__import__('numpy').random.default_rng(0), output=arguments.output,",
    ),
    "the command line prints answers": Bug(
        COMMAND,
        "    if not written:\n",
        "    print(__import__('pathlib').Path(arguments.answers[0]).read_text(), file=sys.stderr)\n    if not written:\n",
    ),
    # -- the budget
    "a coin above its epsilon": Bug(
        "survey.protocols.grid", "numerator = least - 1 + bisect", "numerator = least + bisect"
    ),
    "an epsilon rounded down": Bug(
        DEVICE,
        "return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)",
        "return nearest if Decimal(nearest) <= exact else math.nextafter(nearest, 0)",
    ),
    "a budget for each question": Bug("survey.budget", "left / len(shared) / len(blocks)", "left / len(blocks)"),
}
