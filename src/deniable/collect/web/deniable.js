/* One respondent's answers, randomized on their own device: the browser's twin of deniable's client.py.

   A module without dependencies. `report` is the whole of it:

       record + plan's JSON  --(the browser's randomness, WebCrypto)-->  a fixed number of bytes

   For the same plan, answers and draws the bytes are those of client.py; spec/report-format.md has every rule. A plan
   has one or more arms, each a list of blocks: one question, or several that are randomized together, as one choice
   over all combinations of their answers. The arm is drawn before any answer is looked at, and only what it asks is
   looked at. Every probability is an integer over 65 536 and every draw a 16-bit integer compared with it. No draw is
   skipped because of the answer. No error quotes an answer. Where WebCrypto is missing, everything here throws. */

const SCALE = 65536; // Probabilities, and the shares of arms, are integers over this.
const PRIME = 2 ** 31 - 1; // Hashes are polynomials modulo this prime.
const EVERYBODY = "everybody"; // A plan without arms has one arm of this name.
const MAX_VALUES = 4096; // A choice has at most so many values, and a block so many combinations of answers.
const LITTLE = 171n; // From an e^epsilon above this, a belief of 1 in 10 can become more than 95 in 100.
const ONE = 1n << 256n; // Logarithms are integers over this.
const MEANING = ["version", "features", "arms", "assigned"]; // These parts of a plan make its fingerprint.
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
  name = "DeniableError";
}

/** A plan, or a protocol in it, that cannot be used. */
export class PlanError extends DeniableError {
  name = "PlanError";
}

/** An answer that does not fit the question. */
export class AnswerError extends DeniableError {
  name = "AnswerError";
}

/** Randomize one record as a plan says; gives the bytes to send. See deniable.d.ts for the options. */
export async function report(record, plan, options = {}) {
  const { expect = null, atMost = 8, public: names = [], arm = null, ...unknown } = options;
  const listed = isText(names) || isArray(names) || names instanceof Set;
  const right = listed && (expect === null || isText(expect)) && typeof atMost === "number" && atMost > 0;
  const kinds = [typeof expect, typeof atMost, typeof names, ...keysOf(unknown)]; // an answer might stand there by mistake
  need(right && isEmpty(unknown), "options are expect, atMost, public and arm", kinds);
  const agreed = isText(names) ? [names] : [...names];
  const checked = await read(plan);
  const same = expect === null || expect === checked.fingerprint;
  need(same, `the plan's whole fingerprint must be ${expect}; get the expected plan`, checked.fingerprint);
  const within = checked.epsilon <= atMost;
  need(within, `epsilon must be at most ${atMost}; raise atMost only if the respondent agreed`, checked.epsilon);
  const others = checked.public.filter((name) => !agreed.includes(name));
  need(!others.length, "sent as it is, but not in public; add it only if the respondent agreed", others);
  return reportFrom(systemRandomness, record, checked, arm);
}

/** `report` with its randomness as an argument and without its refusals: for tests, never for real answers. */
export async function reportFrom(source, record, plan, arm = null) {
  const checked = await read(plan);
  const number = armNumber(checked, arm, source);
  const bytes = new Uint8Array(checked.length);
  let position = 0;
  const put = (field, width) => {
    for (let place = 0; place < width; place++, position++) {
      bytes[position >> 3] |= ((field >>> place) & 1) << (position & 7);
    }
  };
  put(number, bitLength(checked.arms.length - 1));
  const blocks = checked.arms[number];
  const codes = blocks.map((block) => blockCode(block, record));
  blocks.forEach(({ m, protocol }, at) => PROTOCOLS[protocol.name].perturb(codes[at], m, protocol, source, put));
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
  const { arms, assigned, ratio } = await read(plan);
  const worst = new Map(); // by answer, e^epsilon of the block that protects it least
  for (const block of arms.flat()) {
    for (const name of isPublic(block) ? [] : block.features.map(titleOf)) {
      if (!worst.has(name) || isAbove(block.ratio, worst.get(name))) worst.set(name, block.ratio);
    }
  }
  const alone = new Map();
  for (const [name, least] of worst) alone.set(most(least), [...(alone.get(most(least)) ?? []), name]);
  const who = assigned
    ? "Whoever invited you chose which, and must have done so by chance."
    : "This device draws it before any answer, so it says nothing of you.";
  const open = arms[0].filter(isPublic).map(({ features }) => titleOf(features[0])).join(", ");
  const lines = [
    "Chance may change your answers on this device, before anything is sent.",
    arms.length > 1 && `You are asked one of ${arms.length} sets of questions. ${who}`,
    `Your whole report can raise what somebody suspects from 1 in 10 to ${most(ratio)}.`,
    ...[...alone].map(
      ([least, names]) => `One answer, if all others are known: from 1 in 10 to ${least} (${names.join(", ")}).`,
    ),
    isAbove(ratio, [LITTLE, 1n]) &&
      "All in all this protects little: whoever sees your report can become nearly sure.",
    "This holds for one report. Another one about the same answers gives away as much again.",
    open && "All of this comes on top of what is sent unprotected.",
  ];
  const last = open && `Not protected at all, but sent as it is: ${open}.`;
  return [...(alone.size ? lines : ["Nothing is protected here."]), last].filter(Boolean).join("\n");
}

/** What people read as a question: its label, or else its name; of a multi-select question, both parts. */
function titleOf({ name, question, label, question_label: whole }) {
  if (question === undefined) return label ?? name;
  const start = question + ": ";
  return `${whole ?? question}: ${label ?? (name.startsWith(start) ? name.slice(start.length) : name)}`;
}

/** SHA-256, in hexadecimal, of what a parsed plan means, as JSON with sorted keys, no spaces, in UTF-8. */
export async function fingerprint(plan) {
  const subtle = webCrypto().subtle;
  if (!subtle) throw new DeniableError("no WebCrypto digest here; serve the page by https, or from localhost");
  const meaning = Object.fromEntries(MEANING.filter((key) => has(plan, key)).map((key) => [key, plan[key]]));
  const digest = await subtle.digest("SHA-256", new TextEncoder().encode(canonical(meaning)));
  return [...new Uint8Array(digest)].map((byte) => hex(byte, 2)).join("");
}

/** Read and check a plan's JSON, as text or parsed, once for many reports; gives what all functions here take. */
export async function read(plan) {
  if (CHECKED.has(plan)) return plan;
  const document = parse(plan);
  checkStated(document, "fingerprint", await fingerprint(document));
  const { version, assigned } = document;
  const tables = version === 1 ? armsOfVersion1(document) : document.arms;
  const features = document.features.map((table, place) => readFeature(table, place, version));
  const names = features.map(nameOf);
  const questions = features.map(({ question }) => question).filter((question) => question && !names.includes(question));
  checkTexts("names", [...names, ...new Set(questions)]);
  follow(isList(tables), "arms", tables);
  const arms = tables.map((table, number) => readArm(`arm ${number}`, table, features));
  checkArms(tables, arms, names);
  follow(assigned === undefined || (assigned === true && arms[1]), "assigned: true, of several arms", assigned);
  const isNew = arms[0].some(({ places }) => places[1]) || features.some(hasNewKeys);
  const usual = version === 1 || arms[1] || (tables[0].name === EVERYBODY && isNew);
  follow(usual, `one arm: ${EVERYBODY}, with something new`, tables);
  const products = arms.map((arm) => arm.reduce(([a, b], { ratio: [c, d] }) => [a * c, b * d], [1n, 1n]));
  const ratio = products.reduce((one, other) => (isAbove(other, one) ? other : one));
  checkStated(document, "epsilon", logUp(ratio));
  const widths = arms.map((arm) => sumOf(arm.map(widthOf)));
  const checked = {
    fingerprint: document.fingerprint,
    epsilon: document.epsilon, // of a whole report, in the largest arm
    ratio, // e^epsilon, as numerator and denominator
    names: tables.map(nameOf),
    shares: tables.map(shareOf),
    arms,
    public: arms[0].filter(isPublic).map((block) => block.features[0].name),
    assigned: assigned === true,
    length: (bitLength(arms.length - 1) + Math.max(...widths) + 7) >> 3, // bytes of a report
  };
  CHECKED.add(freeze(checked));
  return checked;
}

// -- randomness -------------------------------------------------------------------------------------------------------

function webCrypto() {
  const found = globalThis.crypto;
  if (typeof found?.getRandomValues !== "function") {
    throw new DeniableError("no WebCrypto here, and no other randomness will do");
  }
  return found;
}

function systemRandomness(count) {
  return webCrypto().getRandomValues(new Uint8Array(count));
}

function draw(source) {
  const [low, high] = source(2);
  return low | (high << 8);
}

function uniform(m, source) {
  const share = Math.floor(SCALE / m); // each value owns this many of the 65 536 draws; the few left are drawn again
  for (;;) {
    const drawn = draw(source);
    if (drawn < share * m) return Math.floor(drawn / share);
  }
}

function coefficient(source) {
  for (;;) {
    const low = draw(source);
    const drawn = (low | (draw(source) << 16)) & PRIME;
    if (drawn < PRIME) return drawn;
  }
}

function armNumber(plan, arm, source) {
  if (arm !== null && arm !== undefined) {
    const number = plan.names.indexOf(arm);
    need(number >= 0, `the arm must be one of ${shown(plan.names)}`, isText(arm) ? arm : typeof arm);
    return number;
  }
  need(!plan.assigned, "the arm is assigned: give its name", arm);
  if (plan.arms.length === 1) return 0;
  let left = draw(source);
  return plan.shares.findIndex((share) => (left -= share) < 0);
}

// -- protocols: each has its numbers, what it is for, e^epsilon, and how it randomizes a code and puts it into bits -----

const COIN = [1, SCALE - 1];
const CHOICES = ["choice", "several"];

function bits(code, m, { p, q }, source, put) {
  const first = m > 1 ? 0 : 1; // a flag's one bit is that of true
  for (let column = first; column < first + m; column++) put(+(draw(source) < (column === code ? q : p)), 1);
}

function keepOrUniform(code, m, { keep }, source, put) {
  const coin = draw(source);
  const other = uniform(m, source); // drawn even when the answer is kept, or the time taken would show the coin
  put(coin < keep ? code : other, bitLength(m - 1));
}

function subset(code, m, { q, size }, source, put) {
  const coin = draw(source);
  const others = Array.from({ length: m - 1 }, (_, other) => other + (other >= code)); // all values but the true one
  for (let place = 0; place < size; place++) {
    const at = place + uniform(m - 1 - place, source); // the last is drawn even if the true value takes its place
    [others[place], others[at]] = [others[at], others[place]];
  }
  const chosen = others.slice(0, size);
  if (coin < q) chosen[size - 1] = code;
  const inside = new Uint8Array(m);
  for (const value of chosen) inside[value] = 1;
  for (const bit of inside) put(bit, 1);
}

function hashed(code, m, protocol, source, put) {
  const seed = [0, 0, 0, 0].map(() => coefficient(source));
  const hash = seed.reduceRight((h, c) => (h * code + c) % PRIME, 0); // below 2^43 at each step, so exact
  for (const c of seed) put(c, 32);
  keepOrUniform(Math.floor((hash * protocol.buckets) / PRIME), protocol.buckets, protocol, source, put);
}

// Fractions are pairs of long integers: numerator, denominator.
const keepRatio = (values, keep) => [SCALE - keep + values * keep, SCALE - keep];
const PROTOCOLS = {
  "randomized response": {
    numbers: { p: COIN, q: COIN },
    kinds: ["flag"],
    ratio: (m, { p, q }) => (q * (SCALE - q) > p * (SCALE - p) ? [q, p] : [SCALE - p, SCALE - q]),
    perturb: bits,
  },
  "GRR": {
    numbers: { keep: COIN },
    kinds: CHOICES,
    ratio: (m, { keep }) => keepRatio(m, keep),
    perturb: keepOrUniform,
  },
  "subset selection": {
    numbers: { q: COIN, size: [1, MAX_VALUES - 1] },
    kinds: CHOICES,
    ratio: (m, { q, size }) => [q * (m - size), (SCALE - q) * size],
    perturb: subset,
  },
  "unary encoding": {
    numbers: { p: COIN, q: COIN },
    kinds: CHOICES,
    ratio: (m, { p, q }) => [q * (SCALE - p), p * (SCALE - q)],
    perturb: bits,
  },
  "local hashing": {
    numbers: { keep: COIN, buckets: [2, MAX_VALUES] },
    kinds: CHOICES,
    ratio: (m, { keep, buckets }) => keepRatio(buckets, keep),
    perturb: hashed,
  },
  "public": {
    numbers: {},
    kinds: ["flag", "choice"],
    ratio: () => [1, 1],
    perturb: (code, m, protocol, source, put) => put(code, bitLength(Math.max(m, 2) - 1)),
  },
};

/** The bits of a block's field: those that it puts if all draws are zero. */
function widthOf({ m, protocol }) {
  let bits = 0;
  PROTOCOLS[protocol.name].perturb(0, m, protocol, (count) => new Uint8Array(count), (_, width) => (bits += width));
  return bits;
}

// -- the plan ---------------------------------------------------------------------------------------------------------

function parse(plan) {
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
  follow(known, "version 1 or 2, and features", version);
  checkKeys("the plan", document, version, PLAN_KEYS);
  return document;
}

/** Refuse what JSON.parse lets pass: a key that stands twice, an integer with a point or an exponent, no Unicode. */
function checkText(text) {
  const open = []; // the keys so far of each object that is open
  let top, last; // the key of the plan that we are in, and the last text
  const checkLetters = (letters) => follow(!HALF_A_PAIR.test(letters), "whole surrogate pairs", top);
  checkLetters(text);
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (token === ":") {
      follow(!open.at(-1).has(last), "every key once", last);
      open.at(-1).add(last);
      if (!open[1]) top = last;
    } else if (token[0] === '"') checkLetters((last = JSON.parse(token)));
    else follow(!/[.eE]/.test(token) || !MEANING.includes(top), "integers in digits alone", token);
  }
}

function need(right, what, found) {
  if (!right) throw new PlanError(`${what}; found ${shown(found)}`);
}

/** Refuse a plan that breaks a rule of spec/report-format.md. */
function follow(right, rule, found) {
  need(right, `the plan breaks the format (${rule})`, found);
}

function checkStated(document, key, made) {
  need(document[key] === made, `the plan was changed: its content gives the ${key} ${made}`, document[key]);
}

function armsOfVersion1({ features }) {
  const blocks = features.map((feature, place) => {
    const { protocol } = feature;
    delete feature.protocol;
    return { features: [place], protocol };
  });
  return [{ name: EVERYBODY, share: SCALE, blocks }];
}

function readFeature(table, place, version) {
  const where = `feature ${place}`;
  checkKeys(where, table, version, KEYS);
  const { name, values = [], edges, labels = {}, ...texts } = table;
  const { missing } = texts;
  for (const text of [name, ...valuesOf(texts)]) checkTexts(where, [text]);
  const enough = isArray(values) && (isBetween(values.length, 2, MAX_VALUES) || !has(table, "values"));
  const right = enough && isTable(labels) && keysOf(labels).every((key) => values.includes(key));
  follow(right, `${where}: 2 to ${MAX_VALUES} values, and labels of them`, table);
  checkTexts(where, [...values, ...valuesOf(labels)]);
  const isRanged = has(table, "edges");
  if (missing) {
    const among = isRanged ? values.at(-1) === missing : values.includes(missing);
    follow(values[0] ? among : !FLAG_WORDS.test(seen(missing)), `${where}: missing, an answer of its own`, missing);
  }
  if (isRanged) {
    const asMany = isArray(edges) && edges.length > 2 && edges.length === values.length + !missing && edges.every(isText);
    const named = asMany && areRising(edges.map(numberOf)) && rangesOf(edges).every((range, at) => range === values[at]);
    follow(named, `${where}: rising edges, and ranges named after them`, table);
  }
  return table;
}

function checkKeys(where, table, version, known) {
  const found = keysOf(table);
  const later = version === 1 ? ["arms", "assigned", ...NEW_KEYS] : [];
  follow(found.every((key) => known.includes(key) && !later.includes(key)), `keys of ${where}`, found);
}

/** Words for the number ranges between edges. */
function rangesOf(edges) {
  return edges.slice(1).map((high, at) => {
    const low = edges[at];
    if (low === "-inf") return `under ${high}`;
    return high === "inf" ? `${low} and over` : `${low} to ${edges[at + 2] ? "under " : ""}${high}`;
  });
}

/** Refuse texts that nobody could read, or tell from each other. */
function checkTexts(what, texts) {
  const right = texts.every((text) => isText(text) && !CONTROL.test(text) && seen(text));
  follow(right && areDifferent(texts.map(seen)), `${what}: texts to read and tell apart`, texts);
}

/** What can be seen of a text: no letters without ink or width, NFC, and any blanks as one, none at the ends. */
function seen(text) {
  return text.replace(UNSEEN, "").replace(BLANKS, " ").normalize().trim();
}

function readArm(where, table, features) {
  const { name, share, blocks: tables, ...unknown } = table ?? {};
  const right = isText(name) && isBetween(share, 1, SCALE) && isList(tables) && isEmpty(unknown);
  follow(right, `${where}: name, share, blocks`, table);
  const blocks = tables.map((block, number) => readBlock(`${where}, block ${number}`, block, features));
  const places = blocks.map((block) => block.places);
  const inOrder = areDifferent(places.flat()) && areRising(places.map(([first]) => first));
  follow(inOrder, `${where}: each feature once, in order`, places);
  return blocks;
}

function readBlock(where, table, all) {
  const { features: places, protocol, ...unknown } = table ?? {};
  follow(isList(places) && isTable(protocol) && isEmpty(unknown), `${where}: features, protocol`, table);
  const right = areRising(places) && places.every((place) => isBetween(place, 0, all.length - 1));
  follow(right, `${where}: rising places`, places);
  const features = places.map((place) => all[place]);
  const levels = features.map(({ values, missing }) => values?.length ?? (missing ? 3 : 2)); // answers of each feature
  const alone = !features[1] && !features[0].values && levels[0] === 2;
  const m = alone ? 1 : levels.reduce((a, b) => a * b); // 1 for a flag alone, which has one bit
  follow(m <= MAX_VALUES, `${where}: ${MAX_VALUES} combinations`, m);
  checkProtocol(where, protocol, m, features);
  const ratio = PROTOCOLS[protocol.name].ratio(m, protocol).map(BigInt); // products of integers below 2^53
  return { places, features, levels, m, protocol, public: protocol.name === "public", ratio };
}

function checkProtocol(where, { name, ...found }, m, features) {
  follow(isText(name) && has(PROTOCOLS, name), `${where}: protocol`, name);
  const { numbers, kinds } = PROTOCOLS[name];
  const kind = features[1] ? "several" : m > 1 ? "choice" : "flag";
  follow(kinds.includes(kind), `${where}: ${name} is for ${kinds}`, kind);
  const wanted = keysOf(numbers);
  const within = wanted.every((key) => isBetween(found[key], ...numbers[key]));
  follow(within && keysOf(found).length === wanted.length, `${where}: ${name} has ${shown(numbers)}`, found);
  const { p, q, size } = found;
  follow((!p || p < q) && (!size || size * SCALE < q * m), `${where}: q above p, or size / m`, found);
}

function checkArms(tables, arms, names) {
  const shares = tables.map(shareOf);
  checkTexts("arms", tables.map(nameOf));
  follow(sumOf(shares) === SCALE, `shares: sum ${SCALE}`, shares);
  const asked = arms.flat().flatMap(({ places }) => places);
  follow(names.every((_, place) => asked.includes(place)), "every feature asked", asked);
  const open = arms.map((arm) => `${arm.filter(isPublic).map(({ places }) => places)}`);
  follow(open.every((one) => one === open[0]), "public in every arm", open);
}

// -- exact numbers: fractions of long integers -------------------------------------------------------------------------

const isAbove = ([a, b], [c, d]) => a * d > c * b;
const bitLength = (number) => 32 - Math.clz32(number);

/** By Bayes' theorem a belief of 1 in 10 becomes at most r / (r + 9), rounded up to hundredths. */
function most([a, b]) {
  const whole = a + 9n * b;
  return `at most ${(100n * a + whole - 1n) / whole} in 100`;
}

/** The logarithm of a fraction from 1 on, rounded up to the next 64-bit float: never understated. */
function logUp([a, b]) {
  const shift = BigInt(a.toString(2).length - b.toString(2).length);
  const near = b << shift; // a / near is from 1/2 to 2
  const exact = logOfRatio(a, near) + shift * logOfRatio(2n, 1n);
  const nearest = Number(exact);
  const float = new Float64Array([nearest / Number(ONE)]);
  if (BigInt(nearest) < exact) new BigUint64Array(float.buffer)[0] += 1n; // the next float
  return float[0];
}

/** log(a / b) times ONE: the series of 2 artanh(z), z = (a - b) / (a + b). */
function logOfRatio(a, b) {
  const z = ((a - b) * ONE) / (a + b);
  let sum = 0n;
  for (let odd = 1n, power = 2n * z; power; odd += 2n, power = (power * z * z) / (ONE * ONE)) sum += power / odd;
  return sum;
}

// -- answers ----------------------------------------------------------------------------------------------------------

function blockCode({ features, levels }, record) {
  return features.reduce((code, feature, at) => code * levels[at] + encode(feature, answerTo(record, feature)), 0);
}

function answerTo(record, { name, missing }) {
  fit(isTable(record), "a record is an object such as {smoker: true}");
  fit(has(record, name) || missing, `column ${shown(name)} is missing`);
  return has(record, name) ? record[name] : null;
}

function fit(right, what) {
  if (!right) throw new AnswerError(what);
}

function encode({ name, values, edges, missing }, given) {
  const column = `column ${shown(name)}`;
  const none = (given ?? "") === "" || Number.isNaN(given);
  fit(!none || missing, `${column} has no answer (null); leave the record out`);
  const answer = none ? missing : given;
  const number = none ? null : numberOf(answer);
  if (!values) {
    if (isText(answer) && answer === missing) return 2;
    const word = isText(answer) || number !== null ? `${answer}` : "";
    fit(FLAG_WORDS.test(word), `${column} takes true, false, 1 or 0`);
    return +/^[tT1]/.test(word);
  }
  const another = typeof answer === "boolean" || (number === null && !isText(answer));
  fit(!another, `${column} takes text or a number, and got another type`);
  const code = values.indexOf(isText(answer) ? answer : edges ? "" : numberText(number)); // ranges have no numbers for names
  if (code >= 0) return code;
  fit(edges, `${column}: the answer is not one of its values ${shown(values)}`);
  fit(number !== null, `${column} takes a number`);
  const bounds = edges.map(numberOf);
  const last = bounds.length - 1;
  const within = bounds[0] <= number && number <= bounds[last];
  fit(within, `${column}: the answer is outside its ranges, ${edges[0]} to ${edges[last]}`);
  return number === bounds[last] ? last - 1 : bounds.findIndex((bound) => bound > number) - 1;
}

/** A number, also from text such as "-1.5e3" or "inf", or from true and false; null for anything else. */
function numberOf(answer) {
  if (isText(answer)) return NUMBER.test(answer) ? +answer.replace("inf", "Infinity") : null;
  return ["number", "boolean"].includes(typeof answer) ? +answer : null;
}

/** Write a number as a choice's values write it: whole ones without a point, others as short as is exact. */
function numberText(number) {
  if (Number.isInteger(number)) return `${BigInt(number)}`;
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  return Math.abs(number) < 1e-4 ? number.toExponential().replace(/e-(\d)$/, "e-0$1") : `${number}`;
}

// -- small things ------------------------------------------------------------------------------------------------------

const has = Object.hasOwn;
const keysOf = Object.keys;
const valuesOf = Object.values;
const asJson = JSON.stringify;
const { isArray } = Array;
const nameOf = ({ name }) => name;
const shareOf = ({ share }) => share;
const sumOf = (list) => list.reduce((a, b) => a + b);
const hex = (number, width) => number.toString(16).padStart(width, 0);
const isText = (value) => typeof value === "string";
const isObject = (value) => typeof value === "object" && value !== null;
const isTable = (value) => isObject(value) && !isArray(value);
const isList = (value) => isArray(value) && value.length > 0;
const isEmpty = (table) => !keysOf(table).length;
const hasNewKeys = (feature) => NEW_KEYS.some((key) => has(feature, key));
const isPublic = (block) => block.public;
const isBetween = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;
const areDifferent = (list) => new Set(list).size === list.length;
const areRising = (list) => list.every((one, at) => one !== null && (!at || list[at - 1] < one));

/** A text whose order among others is by code points, as Python sorts, not by UTF-16. */
const codePoints = (text) => Array.from(text, (letter) => hex(letter.codePointAt(), 6)).join("");

function canonical(value) {
  if (isArray(value)) return `[${value.map(canonical)}]`;
  if (!isObject(value)) return asJson(value);
  const keys = keysOf(value).sort((a, b) => (codePoints(a) < codePoints(b) ? -1 : 1));
  const pairs = keys.map((key) => `${asJson(key)}:${canonical(value[key])}`);
  return `{${pairs}}`;
}

function shown(value) {
  return (asJson(value) ?? "nothing").slice(0, 200);
}

function freeze(value) {
  if (isObject(value)) valuesOf(value).forEach(freeze);
  return Object.freeze(value);
}
