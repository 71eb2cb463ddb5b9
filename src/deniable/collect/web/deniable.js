/* One respondent's answers, randomized on their own device: the browser's twin of deniable's client.py.

   A module without dependencies. `report` is the whole of it:

       record + plan's JSON  --(the browser's randomness, WebCrypto)-->  a fixed number of bytes

   For the same plan, answers and draws the bytes are those of client.py; spec/report-format.md has every rule. A plan
   has one or more arms, each a list of blocks: one question, or several that are randomized together, as one choice
   over all combinations of their answers. The arm is drawn before any answer is looked at, and only what it asks is
   looked at. Every probability is an integer over 65 536 and every draw a 16-bit integer compared with it. No draw is
   skipped because of the answer. No error quotes an answer. Where WebCrypto is missing, everything here throws.

   Answers to a plan with `repeat` are kept, and sent again: keeping.js, beside this file, does that. */

const SCALE = 65536; // Probabilities, and the shares of arms, are integers over this.
const PRIME = 2 ** 31 - 1; // Hashes are polynomials modulo this prime.
const EVERYBODY = "everybody"; // A plan without arms has one arm of this name.
const MAX_VALUES = 4096; // A choice has at most so many values, and a block so many combinations of answers.
const LITTLE = 171n; // From an e^epsilon above this, a belief of 1 in 10 can become more than 95 in 100.
const ONE = 1n << 256n; // Logarithms are integers over this.
const MEANING = ["version", "features", "arms", "assigned", "repeat", "fresh"]; // These parts of a plan make its fingerprint.
const PLAN_KEYS = [...MEANING, "epsilon", "fingerprint", "want", "n", "design", "reading"]; // A plan has no others.
const NEW_KEYS = ["missing", "label", "labels", "question_label", "help"]; // A feature has these in version 2 alone.
const KEYS = ["name", "question", "values", "edges", ...NEW_KEYS]; // A feature has no others.

const FLAG_WORDS = /^([Tt]rue|TRUE|[Ff]alse|FALSE|[01])$/;
const NUMBER = /^([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|-?inf)$/;
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}:]|[-\d][-+.\deE]*/g; // the parts of valid JSON that matter to `checkText`
const HALF_A_PAIR = /\p{Cs}/u; // half of a surrogate pair, which is no Unicode
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u; // control characters, and ends of lines
const UNSEEN = /[\p{Cf}\p{DI}]/gu; // letters without ink and width: format characters, and default ignorable ones
const BLANKS = /[\p{Z}\u2800]+/gu;
const CHECKED = new WeakSet(); // Plans that `read` made; nobody else can add one.

/** The root of all errors that this module throws on purpose. */
export class DeniableError extends Error {
  get name() {
    return this.constructor.name;
  }
}

/** A plan, or a protocol in it, that cannot be used. */
export class PlanError extends DeniableError {}

/** An answer that does not fit the question. */
export class AnswerError extends DeniableError {}

/** Randomize one record as a plan says; gives the bytes to send. See deniable.d.ts for the options. */
export async function report(record, plan, options) {
  const checked = await agreedPlan(plan, options);
  need(!checked.kept, "its answers are kept: use keeping.js", "report");
  return reportFrom(systemRandomness, record, checked, options?.arm);
}

/** The plan, checked; and refused if it is not what was agreed to, by the options of `report`. */
export async function agreedPlan(plan, options = {}) {
  const { expect = null, atMost = 8, public: names = [], arm, ...unknown } = options;
  const listed = isText(names) || isArray(names) || names instanceof Set;
  const right = listed && isText(expect ?? "") && typeof atMost === "number" && atMost > 0;
  const found = keysOf(options); // names alone: an answer might stand there by mistake
  need(right && isEmpty(unknown), "options: expect, atMost, public, arm", found);
  const agreed = isText(names) ? [names] : [...names];
  const checked = await read(plan);
  const same = expect === null || expect === checked.fingerprint;
  need(same, `the plan's fingerprint must be ${expect}`, checked.fingerprint);
  need(checked.epsilon <= atMost, `epsilon must be at most ${atMost}`, checked.epsilon);
  const others = checked.public.filter((name) => !agreed.includes(name));
  need(!others.length, "sent as it is, but not in public", others);
  return checked;
}

/** `report` with its randomness as an argument and without its refusals: for tests, never for real answers.
    A source with `begin` is told which block is drawn for, and of which answer: see keeping.js. */
export async function reportFrom(source, record, plan, arm = null) {
  const checked = await read(plan);
  const number = armNumber(checked, arm, source);
  const bytes = bytesOf(checked.length);
  let position = 0;
  const put = (field, width) => {
    for (let place = 0; place < width; place++, position++) {
      bytes[position >> 3] |= ((field >>> place) & 1) << (position & 7);
    }
  };
  put(number, bitLength(checked.arms.length - 1));
  const blocks = checked.arms[number];
  const codes = blocks.map((block) => blockCode(block, record));
  blocks.forEach(({ m, protocol }, at) => {
    source.begin?.(`${number}/${at}/${codes[at]}`);
    PROTOCOLS[protocol.name].perturb(codes[at], m, protocol, source, put);
  });
  return bytes;
}

/** Draw an arm: its name, for `questions` and then for `report`. */
export async function drawArm(plan) {
  const checked = await read(plan);
  return checked.names[armNumber(checked, null, systemRandomness)];
}

/** List the features that an arm asks, as the plan's JSON has them, in its order; what is public is marked. */
export async function questions(plan, arm) {
  const checked = await read(plan);
  const asked = [];
  for (const { places, features, public: open } of checked.arms[armNumber(checked, arm ?? "")]) {
    places.forEach((place, at) => (asked[place] = { ...structuredClone(features[at]), ...(open && { public: true }) }));
  }
  return asked.filter(Boolean);
}

/** Say to a respondent, in plain words, the most that can be learned from a report, and what is not protected. */
export async function promise(plan) {
  const { arms, assigned, ratio, kept, once } = await read(plan);
  const worst = new Map(); // by answer, the most that is learned of it from any block
  for (const block of arms.flat()) {
    for (const name of isPublic(block) ? [] : block.features.map(titleOf)) {
      const learned = hundredths(block.ratio);
      if (!(worst.get(name) > learned)) worst.set(name, learned);
    }
  }
  const alone = new Map();
  for (const [name, least] of worst) alone.set(least, [...(alone.get(least) ?? []), name]);
  const who = assigned
    ? "Whoever invited you chose which, and must have done so by chance."
    : "This device draws it before any answer, so it says nothing of you.";
  const open = publicOf(arms[0]).map(titleOf).join(", ");
  const lines = [
    "Chance may change your answers on this device, before anything is sent.",
    arms[1] && `You are asked one of ${arms.length} sets of questions. ${who}`,
    `${once ? "All your reports together" : "Your whole report"} can raise what somebody suspects ${raised(hundredths(ratio))}.`,
    once && `One report alone: ${raised(hundredths(once))}.`,
    ...[...alone].map(
      ([least, names]) => `One answer, if all others are known: ${raised(least)} (${names.join(", ")}).`,
    ),
    isAbove(ratio, [LITTLE, 1n]) &&
      "All in all this protects little: whoever sees your report can become nearly sure.",
    kept
      ? "Asked again, this device sends what it kept of your first answers, even if yours change, and so nothing more."
      : "This holds for one report. Another one about the same answers gives away as much again.",
    open && "All of this comes on top of what is sent unprotected.",
  ];
  const last = open && `Not protected at all, but sent as it is: ${open}.`;
  return [...(alone.size ? lines : ["Nothing is protected here."]), last].filter(Boolean).join("\n");
}

/** What people read as a question: its label, or else its name; of a multi-select question, both parts. */
const titleOf = ({ name, question, label, question_label: whole }) => {
  if (!question) return label ?? name;
  const start = question + ": ";
  return `${whole ?? question}: ${label ?? (name.startsWith(start) ? name.slice(start.length) : name)}`;
};

/** SHA-256, in hexadecimal, of what a parsed plan means, as JSON with sorted keys, no spaces, in UTF-8. */
export async function fingerprint(plan) {
  const subtle = webCrypto().subtle;
  if (!subtle) throw new DeniableError("no WebCrypto digest: serve the page by https, or from localhost");
  const meaning = Object.fromEntries(MEANING.filter((key) => has(plan, key)).map((key) => [key, plan[key]]));
  const digest = await subtle.digest("SHA-256", new TextEncoder().encode(canonical(meaning)));
  return [...bytesOf(digest)].map((byte) => hex(byte, 2)).join("");
}

/** Read and check a plan's JSON, as text or parsed, once for many reports; gives what all functions here take. */
export async function read(plan) {
  if (CHECKED.has(plan)) return plan;
  const document = parse(plan);
  checkStated(document, "fingerprint", await fingerprint(document));
  const { version, assigned, repeat = "keep", fresh = SCALE, epsilon } = document;
  const tables = version === 1 ? armsOfVersion1(document) : document.arms;
  const features = document.features.map((table, place) => readFeature(table, place, version));
  const names = features.map(nameOf);
  const questions = features.map(({ question }) => question).filter((question) => question && !names.includes(question));
  checkTexts("names", [...names, ...new Set(questions)]);
  follow(isList(tables), "arms", tables);
  const arms = tables.map((table, number) => readArm(`arm ${number}`, table, features));
  checkArms(tables, arms, names);
  follow(assigned === undefined || (assigned === true && arms[1]), "assigned", assigned);
  const kept = has(document, "repeat");
  const coin = has(document, "fresh");
  const isOne = arms.flat().every(({ protocol: { name } }) => /^[prG]/.test(name)); // public, randomized response, GRR
  const right = repeat === "keep" && (!coin || (kept && isOne && isBetween(fresh, ...COIN)));
  follow(right, "repeat, fresh", [repeat, fresh]);
  const isNew = kept || arms[0].some(({ places }) => places[1]) || features.some(hasNewKeys);
  const usual = version === 1 || arms[1] || (tables[0].name === EVERYBODY && isNew);
  follow(usual, `one arm: ${EVERYBODY}`, tables);
  const ratio = largest(arms, SCALE);
  checkStated(document, "epsilon", logUp(ratio));
  const widths = arms.map((arm) => sumOf(arm.map(widthOf)));
  const checked = {
    fingerprint: document.fingerprint,
    epsilon, // of a whole report, in the largest arm
    ratio, // e^epsilon, as numerator and denominator
    once: coin && largest(arms, fresh), // the same of one report under a fresh coin
    kept: kept && fresh, // the numerator of that coin, 65 536 without one; false if answers are not kept
    names: tables.map(nameOf),
    shares: tables.map(shareOf),
    arms,
    public: publicOf(arms[0]).map(nameOf),
    assigned: !!assigned,
    length: (bitLength(arms.length - 1) + Math.max(...widths) + 7) >> 3, // bytes of a report
  };
  CHECKED.add(freeze(checked));
  return checked;
}

// -- randomness -------------------------------------------------------------------------------------------------------

const webCrypto = () => {
  const found = globalThis.crypto;
  if (typeof found?.getRandomValues !== "function") {
    throw new DeniableError("no WebCrypto here, and no other randomness will do");
  }
  return found;
};

const systemRandomness = (count) => webCrypto().getRandomValues(bytesOf(count));

const draw = (source) => {
  const [low, high] = source(2);
  return low | (high << 8);
};

const uniform = (m, source) => {
  const share = quotient(SCALE, m); // each value owns this many of the 65 536 draws; the few left are drawn again
  for (;;) {
    const drawn = draw(source);
    if (drawn < share * m) return quotient(drawn, share);
  }
};

const coefficient = (source) => {
  for (;;) {
    const low = draw(source);
    const drawn = (low | (draw(source) << 16)) & PRIME;
    if (drawn < PRIME) return drawn;
  }
};

const armNumber = (plan, arm, source) => {
  if (arm !== null && arm !== undefined) {
    const number = plan.names.indexOf(arm);
    need(number >= 0, `the arm must be one of ${shown(plan.names)}`, isText(arm) ? arm : typeof arm);
    return number;
  }
  need(!plan.assigned, "the arm is assigned", arm);
  if (!plan.arms[1]) return 0;
  let left = draw(source);
  return plan.shares.findIndex((share) => (left -= share) < 0);
};

// -- protocols: each has its numbers, what it is for, e^epsilon, and how it randomizes a code and puts it into bits -----

const COIN = [1, SCALE - 1];

const bits = (code, m, { p, q }, source, put) => {
  const first = m > 1 ? 0 : 1; // a flag's one bit is that of true
  for (let column = first; column < first + m; column++) put(+(draw(source) < (column === code ? q : p)), 1);
};

const keepOrUniform = (code, m, { keep }, source, put) => {
  const coin = draw(source);
  const other = uniform(m, source); // drawn even when the answer is kept, or the time taken would show the coin
  put(coin < keep ? code : other, bitLength(m - 1));
};

const subset = (code, m, { q, size }, source, put) => {
  const coin = draw(source);
  const others = Array.from({ length: m - 1 }, (_, other) => other + (other >= code)); // all values but the true one
  for (let place = 0; place < size; place++) {
    const at = place + uniform(m - 1 - place, source); // the last is drawn even if the true value takes its place
    [others[place], others[at]] = [others[at], others[place]];
  }
  const chosen = others.slice(0, size);
  if (coin < q) chosen[size - 1] = code;
  const inside = bytesOf(m);
  for (const value of chosen) inside[value] = 1;
  for (const bit of inside) put(bit, 1);
};

const hashed = (code, m, protocol, source, put) => {
  const seed = [0, 0, 0, 0].map(() => coefficient(source));
  const hash = seed.reduceRight((h, c) => (h * code + c) % PRIME, 0); // below 2^43 at each step, so exact
  for (const c of seed) put(c, 32);
  keepOrUniform(quotient(hash * protocol.buckets, PRIME), protocol.buckets, protocol, source, put);
};

// Fractions are pairs of integers below 2^53: numerator, denominator; with a fresh coin over 65 536^2, or twice that.
const keepRatio = (values, kept) => [SCALE ** 2 - kept + values * kept, SCALE ** 2 - kept];
const PROTOCOLS = {
  "randomized response": {
    numbers: { p: COIN, q: COIN },
    ratio(m, { p, q }, fresh) {
      const [a, b] = [p, q].map((one) => 2 * fresh * one + (SCALE - fresh) * SCALE);
      const all = 2 * SCALE ** 2;
      return a + b < all ? [b, a] : [all - a, all - b]; // the larger one
    },
    perturb: bits,
  },
  "GRR": {
    numbers: { keep: COIN },
    ratio: (m, { keep }, fresh) => keepRatio(m, keep * fresh),
    perturb: keepOrUniform,
  },
  "subset selection": {
    numbers: { q: COIN, size: [1, MAX_VALUES - 1] },
    ratio: (m, { q, size }) => [q * (m - size), (SCALE - q) * size],
    perturb: subset,
  },
  "unary encoding": {
    numbers: { p: COIN, q: COIN },
    ratio: (m, { p, q }) => [q * (SCALE - p), p * (SCALE - q)],
    perturb: bits,
  },
  "local hashing": {
    numbers: { keep: COIN, buckets: [2, MAX_VALUES] },
    ratio: (m, { keep, buckets }) => keepRatio(buckets, keep * SCALE),
    perturb: hashed,
  },
  "public": {
    numbers: {},
    ratio: () => [1, 1],
    perturb: (code, m, protocol, source, put) => put(code, bitLength(Math.max(m, 2) - 1)),
  },
};

/** e^epsilon of a whole report in the arm where it is largest, after a fresh coin. */
const largest = (arms, fresh) => {
  const ofBlock = ({ m, protocol }) => PROTOCOLS[protocol.name].ratio(m, protocol, fresh).map(BigInt);
  const products = arms.map((arm) => arm.map(ofBlock).reduce(([a, b], [c, d]) => [a * c, b * d]));
  return products.reduce((one, other) => (isAbove(other, one) ? other : one));
};

/** The bits of a block's field: those that it puts if all draws are zero. */
const widthOf = ({ m, protocol }) => {
  let bits = 0;
  PROTOCOLS[protocol.name].perturb(0, m, protocol, (count) => bytesOf(count), (_, width) => (bits += width));
  return bits;
};

// -- the plan ---------------------------------------------------------------------------------------------------------

const parse = (plan) => {
  let text = plan;
  let document;
  try {
    if (isObject(plan)) text = asJson(plan);
    document = isText(text) && JSON.parse(text);
  } catch {}
  follow(isTable(document), "a JSON object", typeof plan);
  checkText(text);
  const { version, features } = document;
  const known = [1, 2].includes(version) && isArray(features) && features.every(isTable);
  follow(known, "version, features", version);
  checkKeys("the plan", document, version, PLAN_KEYS);
  return document;
};

/** Refuse what JSON.parse lets pass: a key that stands twice, an integer with a point or an exponent, no Unicode. */
const checkText = (text) => {
  const open = []; // the keys so far of each object that is open
  let top, last; // the key of the plan that we are in, and the last text
  const checkLetters = (letters) => follow(!HALF_A_PAIR.test(letters), "letters", top);
  checkLetters(text);
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (token === ":") {
      follow(!open.at(-1).has(last), "keys", last);
      open.at(-1).add(last);
      if (!open[1]) top = last;
    } else if (token[0] === '"') checkLetters((last = JSON.parse(token)));
    else follow(!/[.eE]/.test(token) || !MEANING.includes(top), "integers", token);
  }
};

const need = (right, what, found) => {
  if (!right) throw new PlanError(`${what}; found ${shown(found)}`);
};

/** Refuse a plan that breaks a rule of spec/report-format.md. */
const follow = (right, rule, found) => {
  need(right, `the plan breaks the format (${rule})`, found);
};

const checkStated = (document, key, made) => {
  need(document[key] === made, `the plan was changed: its ${key} is ${made}`, document[key]);
};

const armsOfVersion1 = ({ features }) => {
  const blocks = features.map((feature, place) => {
    const { protocol } = feature;
    delete feature.protocol;
    return { features: [place], protocol };
  });
  return [{ name: EVERYBODY, share: SCALE, blocks }];
};

const readFeature = (table, place, version) => {
  const where = `feature ${place}`;
  checkKeys(where, table, version, KEYS);
  const { name, values = [], edges, labels = {}, ...texts } = table;
  const { missing } = texts;
  for (const text of [name, ...valuesOf(texts)]) checkTexts(where, [text]);
  const enough = isArray(values) && (isBetween(values.length, 2, MAX_VALUES) || !has(table, "values"));
  const right = enough && isTable(labels) && keysOf(labels).every((key) => values.includes(key));
  follow(right, `${where}: values, labels`, table);
  checkTexts(where, [...values, ...valuesOf(labels)]);
  const isRanged = has(table, "edges");
  if (missing) {
    const among = isRanged ? values.at(-1) === missing : values.includes(missing);
    follow(values[0] ? among : !FLAG_WORDS.test(seen(missing)), `${where}: missing`, missing);
  }
  if (isRanged) {
    const asMany = isArray(edges) && edges.length > 2 && edges.length === values.length + !missing && edges.every(isText);
    const named = asMany && areRising(edges.map(numberOf)) && rangesOf(edges).every((range, at) => range === values[at]);
    follow(named, `${where}: edges`, table);
  }
  return table;
};

const checkKeys = (where, table, version, known) => {
  const found = keysOf(table);
  const later = version === 1 ? [...MEANING.slice(2), ...NEW_KEYS] : [];
  follow(found.every((key) => known.includes(key) && !later.includes(key)), `keys of ${where}`, found);
};

/** Words for the number ranges between edges. */
const rangesOf = (edges) => {
  return edges.slice(1).map((high, at) => {
    const low = edges[at];
    if (low === "-inf") return `under ${high}`;
    return high === "inf" ? `${low} and over` : `${low} to ${edges[at + 2] ? "under " : ""}${high}`;
  });
};

/** Refuse texts that nobody could read, or tell from each other. */
const checkTexts = (what, texts) => {
  const right = texts.every((text) => isText(text) && !CONTROL.test(text) && seen(text));
  follow(right && areDifferent(texts.map(seen)), `${what}: texts`, texts);
};

/** What can be seen of a text: no letters without ink or width, NFC, and any blanks as one, none at the ends. */
const seen = (text) => text.replace(UNSEEN, "").replace(BLANKS, " ").normalize().trim();

const readArm = (where, table, features) => {
  const { name, share, blocks: tables, ...unknown } = table ?? {};
  const right = isText(name) && isBetween(share, 1, SCALE) && isList(tables) && isEmpty(unknown);
  follow(right, `${where}: name, share, blocks`, table);
  const blocks = tables.map((block, number) => readBlock(`${where}, block ${number}`, block, features));
  const places = blocks.map((block) => block.places);
  const inOrder = areDifferent(places.flat()) && areRising(places.map(([first]) => first));
  follow(inOrder, `${where}: order`, places);
  return blocks;
};

const readBlock = (where, table, all) => {
  const { features: places, protocol, ...unknown } = table ?? {};
  const inside = isList(places) && areRising(places) && places.every((place) => isBetween(place, 0, all.length - 1));
  follow(inside && isTable(protocol) && isEmpty(unknown), `${where}: features, protocol`, table);
  const features = places.map((place) => all[place]);
  const levels = features.map(({ values, missing }) => values?.length ?? (missing ? 3 : 2)); // answers of each feature
  const alone = !features[1] && !features[0].values && levels[0] === 2;
  const m = alone ? 1 : levels.reduce((a, b) => a * b); // 1 for a flag alone, which has one bit
  follow(m <= MAX_VALUES, `${where}: size`, m);
  checkProtocol(where, protocol, m, features);
  return { places, features, levels, m, protocol, public: protocol.name === "public", ratio: largest([[{ m, protocol }]], SCALE) };
};

const checkProtocol = (where, { name, ...found }, m, features) => {
  const fits = name === "public" ? !features[1] : m > 1 === (name?.[0] !== "r"); // randomized response is for flags alone
  follow(isText(name) && has(PROTOCOLS, name) && fits, `${where}: protocol`, name);
  const { numbers } = PROTOCOLS[name];
  const wanted = keysOf(numbers);
  const within = wanted.every((key) => isBetween(found[key], ...numbers[key]));
  follow(within && keysOf(found).length === wanted.length, `${where}: ${wanted}`, found);
  const { p, q, size } = found;
  follow((!p || p < q) && (!size || size * SCALE < q * m), `${where}: p, q, size`, found);
};

const checkArms = (tables, arms, names) => {
  const shares = tables.map(shareOf);
  checkTexts("arms", tables.map(nameOf));
  follow(sumOf(shares) === SCALE, "shares", shares);
  const asked = arms.flat().flatMap(({ places }) => places);
  follow(names.every((_, place) => asked.includes(place)), "all features", asked);
  const open = arms.map((arm) => `${arm.filter(isPublic).map(({ places }) => places)}`);
  follow(open.every((one) => one === open[0]), "public", open);
};

// -- exact numbers: fractions of long integers -------------------------------------------------------------------------

const isAbove = ([a, b], [c, d]) => a * d > c * b;
const bitLength = (number) => 32 - Math.clz32(number);

/** By Bayes' theorem a belief of 1 in 10 becomes at most r / (r + 9), rounded up to hundredths. */
const hundredths = ([a, b]) => {
  const whole = a + 9n * b;
  return (100n * a + whole - 1n) / whole;
};

const raised = (least) => `from 1 in 10 to at most ${least} in 100`;

/** The logarithm of a fraction from 1 on, rounded up to the next 64-bit float: never understated. */
const logUp = ([a, b]) => {
  const shift = BigInt(a.toString(2).length - b.toString(2).length);
  const near = b << shift; // a / near is from 1/2 to 2
  const exact = logOfRatio(a, near) + shift * logOfRatio(2n, 1n);
  const nearest = Number(exact);
  const float = new Float64Array([nearest / Number(ONE)]);
  if (BigInt(nearest) < exact) new BigUint64Array(float.buffer)[0] += 1n; // the next float
  return float[0];
};

/** log(a / b) times ONE: the series of 2 artanh(z), z = (a - b) / (a + b). */
const logOfRatio = (a, b) => {
  const z = ((a - b) * ONE) / (a + b);
  let sum = 0n;
  for (let odd = 1n, power = 2n * z; power; odd += 2n, power = (power * z * z) / (ONE * ONE)) sum += power / odd;
  return sum;
};

// -- answers ----------------------------------------------------------------------------------------------------------

const blockCode = ({ features, levels }, record) =>
  features.reduce((code, feature, at) => code * levels[at] + encode(feature, answerTo(record, feature)), 0);

const answerTo = (record, { name, missing }) => {
  fit(isTable(record), "a record is an object");
  fit(has(record, name) || missing, `column ${shown(name)} is missing`);
  return has(record, name) ? record[name] : null;
};

const fit = (right, what) => {
  if (!right) throw new AnswerError(what);
};

const encode = ({ name, values, edges, missing }, given) => {
  const column = `column ${shown(name)}`;
  const none = (given ?? "") === "" || Number.isNaN(given);
  fit(!none || missing, `${column} has no answer (null)`);
  const answer = none ? missing : given;
  const number = none ? null : numberOf(answer);
  if (!values) {
    if (isText(answer) && answer === missing) return 2;
    const word = isText(answer) || number !== null ? `${answer}` : "";
    fit(FLAG_WORDS.test(word), `${column} takes true, false, 1 or 0`);
    return +/^[tT1]/.test(word);
  }
  const another = typeof answer === "boolean" || (number === null && !isText(answer));
  fit(!another, `${column} takes text or a number`);
  const code = values.indexOf(isText(answer) ? answer : edges ? "" : numberText(number)); // ranges have no numbers for names
  if (code >= 0) return code;
  fit(edges, `${column}: the answer is not one of its values`);
  fit(number !== null, `${column} takes a number`);
  const bounds = edges.map(numberOf);
  const last = bounds.length - 1;
  const within = bounds[0] <= number && number <= bounds[last];
  fit(within, `${column}: the answer is outside its ranges`);
  return number === bounds[last] ? last - 1 : bounds.findIndex((bound) => bound > number) - 1;
};

/** A number, also from text such as "-1.5e3" or "inf", or from true and false; null for anything else. */
const numberOf = (answer) => {
  if (isText(answer)) return NUMBER.test(answer) ? +answer.replace("inf", "Infinity") : null;
  return ["number", "boolean"].includes(typeof answer) ? +answer : null;
};

/** Write a number as a choice's values write it: whole ones without a point, others as short as is exact. */
const numberText = (number) => {
  if (Number.isInteger(number)) return `${BigInt(number)}`;
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  return Math.abs(number) < 1e-4 ? number.toExponential().replace(/e-(\d)$/, "e-0$1") : `${number}`;
};

// -- small things ------------------------------------------------------------------------------------------------------

const { hasOwn: has, keys: keysOf, values: valuesOf } = Object;
const asJson = JSON.stringify;
const { isArray } = Array;
const nameOf = ({ name }) => name;
const shareOf = ({ share }) => share;
const sumOf = (list) => list.reduce((a, b) => a + b);
const bytesOf = (given) => new Uint8Array(given); // so many zeros, or what is given
const quotient = (a, b) => (a / b) | 0; // whole, and below 2^31
const hex = (number, width) => number.toString(16).padStart(width, 0);
const isText = (value) => typeof value === "string";
const isObject = (value) => typeof value === "object" && value !== null;
const isTable = (value) => isObject(value) && !isArray(value);
const isList = (value) => isArray(value) && value.length;
const isEmpty = (table) => !keysOf(table).length;
const hasNewKeys = (feature) => NEW_KEYS.some((key) => has(feature, key));
const isPublic = (block) => block.public;
const publicOf = (arm) => arm.filter(isPublic).map(({ features: [only] }) => only);
const isBetween = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;
const areDifferent = (list) => new Set(list).size === list.length;
const areRising = (list) => list.every((one, at) => one !== null && (!at || list[at - 1] < one));

/** A text whose order among others is by code points, as Python sorts, not by UTF-16. */
const codePoints = (text) => Array.from(text, (letter) => hex(letter.codePointAt(), 6)).join("");

const canonical = (value) => {
  if (isArray(value)) return `[${value.map(canonical)}]`;
  if (!isObject(value)) return asJson(value);
  const keys = keysOf(value).sort((a, b) => (codePoints(a) < codePoints(b) ? -1 : 1));
  const pairs = keys.map((key) => `${asJson(key)}:${canonical(value[key])}`);
  return `{${pairs}}`;
};

const shown = (value) => (asJson(value) ?? "nothing").slice(0, 200);

const freeze = (value) => {
  if (isObject(value)) valuesOf(value).forEach(freeze);
  return Object.freeze(value);
};
