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

const FLAG_WORDS = new Map([
  ...["true", "True", "TRUE", "1"].map((word) => [word, 1]),
  ...["false", "False", "FALSE", "0"].map((word) => [word, 0]),
]);
const NUMBER = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}:]|[-0-9][-+.0-9eE]*/g; // the parts of valid JSON that matter to `checkText`
const HALF_A_PAIR = /\p{Cs}/u; // half of a surrogate pair, which is no Unicode
const CHECKED = new WeakSet(); // Plans that `read` made; nobody else can add one.

/** The root of all errors that this module throws on purpose. */
export class DeniableError extends Error {
  get name() {
    return "DeniableError";
  }
}

/** A plan, or a protocol in it, that cannot be used. */
export class PlanError extends DeniableError {
  get name() {
    return "PlanError";
  }
}

/** An answer that does not fit the question. */
export class AnswerError extends DeniableError {
  get name() {
    return "AnswerError";
  }
}

/** Randomize one record as a plan says; gives the bytes to send. See deniable.d.ts for the options. */
export async function report(record, plan, options = {}) {
  const { expect = null, atMost = 8, public: names = [], arm = null, ...unknown } = options;
  need(!keysOf(unknown).length, "options are expect, atMost, public and arm", keysOf(unknown));
  const listed = isText(names) || Array.isArray(names) || names instanceof Set;
  need(listed, "public must be a list of names", typeof names); // kinds alone: an answer might stand there
  const agreed = isText(names) ? [names] : [...names];
  need(expect === null || isText(expect), "expect must be a fingerprint", typeof expect);
  need(typeof atMost === "number" && atMost > 0, "atMost must be a number above 0", typeof atMost);
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
  return checked.arms[armNumber(checked, arm ?? "")]
    .flatMap(({ places, features, public: open }) => features.map((one, at) => ({ place: places[at], one, open })))
    .sort((a, b) => a.place - b.place)
    .map(({ one, open }) => ({ ...structuredClone(one), ...(open && { public: true }) }));
}

/** Say to a respondent, in plain words, the most that can be learned from a report, and what is not protected. */
export async function promise(plan) {
  const { arms, assigned, public: shownNames, ratio } = await read(plan);
  const worst = new Map(); // by answer, e^epsilon of the block that protects it least
  for (const block of arms.flat()) {
    for (const { name } of block.features) {
      if (!worst.has(name) || isAbove(block.ratio, worst.get(name))) worst.set(name, block.ratio);
    }
  }
  const alone = new Map();
  for (const [name, least] of worst) {
    if (!shownNames.includes(name)) alone.set(most(least), [...(alone.get(most(least)) ?? []), name]);
  }
  const who = assigned
    ? "Whoever invited you chose which, and must have done so by chance."
    : "This device draws it before any answer, so it says nothing of you.";
  const open = shownNames.join(", ");
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

/** SHA-256, in hexadecimal, of what a parsed plan means, as JSON with sorted keys, no spaces, in UTF-8. */
export async function fingerprint(plan) {
  const subtle = webCrypto().subtle;
  if (!subtle) throw new DeniableError("no WebCrypto digest here; serve the page by https, or from localhost");
  const meaning = Object.fromEntries(MEANING.filter((key) => has(plan, key)).map((key) => [key, plan[key]]));
  const digest = await subtle.digest("SHA-256", new TextEncoder().encode(canonical(meaning)));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Read and check a plan's JSON, as text or parsed, once for many reports; gives what all functions here take. */
export async function read(plan) {
  if (CHECKED.has(plan)) return plan;
  const document = parse(plan);
  checkStated(document, "fingerprint", await fingerprint(document));
  const tables = document.version === 1 ? armsOfVersion1(document) : document.arms;
  const features = document.features.map(readFeature);
  const names = features.map(({ name }) => name);
  need(names.length && areDifferent(names), "features must have different names", names);
  need(Array.isArray(tables), "version 2 has a list of arms", tables);
  const arms = tables.map((table, number) => readArm(`arm ${number}`, table, features));
  checkArms(tables, arms, names);
  checkForm(document, tables, arms);
  const products = arms.map((arm) => product(arm.map(({ ratio }) => ratio)));
  const largest = products.reduce((one, other) => (isAbove(other, one) ? other : one));
  checkStated(document, "epsilon", logUp(largest));
  const widths = arms.map((arm) => arm.reduce((sum, { m, protocol }) => sum + widthOf(m, protocol), 0));
  let sum = 0;
  const checked = {
    fingerprint: document.fingerprint,
    epsilon: document.epsilon, // of a whole report, in the largest arm
    ratio: largest, // e^epsilon, as numerator and denominator
    names: tables.map(({ name }) => name),
    bounds: tables.map(({ share }) => (sum += share)),
    arms,
    public: arms[0].filter((block) => block.public).map((block) => block.features[0].name),
    assigned: has(document, "assigned"),
    length: (bitLength(arms.length - 1) + widths.reduce((a, b) => Math.max(a, b)) + 7) >> 3, // bytes of a report
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
  need(!plan.assigned, "the arm is assigned, not drawn: give its name, arm: ...", arm);
  if (plan.arms.length === 1) return 0;
  const drawn = draw(source);
  return plan.bounds.findIndex((bound) => bound > drawn);
}

// -- protocols: each has its numbers, the bits of its field, e^epsilon, and how it randomizes a code -------------------

const COIN = [1, SCALE - 1];

function bits(code, m, { p, q }, source, put) {
  if (m === 1) return put(+(draw(source) < (code ? q : p)), 1);
  for (let column = 0; column < m; column++) put(+(draw(source) < (column === code ? q : p)), 1);
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
    flags: true,
    width: () => 1,
    ratio: (m, { p, q }) => (q * (SCALE - q) > p * (SCALE - p) ? [q, p] : [SCALE - p, SCALE - q]),
    perturb: bits,
  },
  "GRR": {
    numbers: { keep: COIN },
    choices: true,
    width: (m) => bitLength(m - 1),
    ratio: (m, { keep }) => keepRatio(m, keep),
    perturb: keepOrUniform,
  },
  "subset selection": {
    numbers: { q: COIN, size: [1, MAX_VALUES - 1] },
    choices: true,
    width: (m) => m,
    ratio: (m, { q, size }) => [q * (m - size), (SCALE - q) * size],
    perturb: subset,
  },
  "unary encoding": {
    numbers: { p: COIN, q: COIN },
    choices: true,
    width: (m) => m,
    ratio: (m, { p, q }) => [q * (SCALE - p), p * (SCALE - q)],
    perturb: bits,
  },
  "local hashing": {
    numbers: { keep: COIN, buckets: [2, MAX_VALUES] },
    choices: true,
    width: (m, { buckets }) => 128 + bitLength(buckets - 1),
    ratio: (m, { keep, buckets }) => keepRatio(buckets, keep),
    perturb: hashed,
  },
  "public": {
    numbers: {},
    flags: true,
    choices: true,
    width: (m) => bitLength(Math.max(m, 2) - 1),
    ratio: () => [1, 1],
    perturb: (code, m, protocol, source, put) => put(code, widthOf(m, protocol)),
  },
};

const widthOf = (m, protocol) => PROTOCOLS[protocol.name].width(m, protocol);

// -- the plan ---------------------------------------------------------------------------------------------------------

function parse(plan) {
  let document;
  try {
    const text = isObject(plan) ? JSON.stringify(plan) : plan;
    need(isText(text), "a plan is JSON text", typeof text);
    document = JSON.parse(text);
    checkText(text);
  } catch (error) {
    throw new PlanError(`the plan is not JSON as plan.to_json() gives it: ${error.message}`);
  }
  need(isTable(document), "a plan is a JSON object", typeof document);
  const known = [1, 2].includes(document.version) && Array.isArray(document.features);
  need(known, "a plan has version 1 or 2, and a list of features", document.version);
  return document;
}

/** Refuse what JSON.parse lets pass: a key that stands twice, an integer with a point or an exponent, no Unicode. */
function checkText(text) {
  if (HALF_A_PAIR.test(text)) throw new Error("half of a surrogate pair");
  const open = []; // the keys so far of each object that is open
  let top, last; // the key of the plan that we are in, and the last text
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (token === ":") {
      if (open.at(-1).has(last)) throw new Error("a key stands twice");
      open.at(-1).add(last);
      if (open.length === 1) top = last;
    } else if (token[0] === '"') {
      last = JSON.parse(token);
      if (HALF_A_PAIR.test(last)) throw new Error("half of a surrogate pair");
    } else if (/[.eE]/.test(token) && MEANING.includes(top)) throw new Error("an integer with a point or exponent");
  }
}

function need(right, what, found) {
  if (!right) throw new PlanError(`${what}; found ${shown(found)}`);
}

function checkStated(document, key, made) {
  const stated = has(document, key) ? document[key] : null;
  need(stated === made, `the plan was changed after it was made: its content gives the ${key} ${made}`, stated);
}

function armsOfVersion1(document) {
  need(!has(document, "arms") && !has(document, "assigned"), "version 1 has no arms", keysOf(document));
  const blocks = document.features.map((feature, place) => {
    const right = isTable(feature) && has(feature, "protocol");
    need(right, `feature ${place} must be an object with a protocol`, feature);
    const { protocol } = feature;
    delete feature.protocol;
    return { features: [place], protocol };
  });
  return [{ name: EVERYBODY, share: SCALE, blocks }];
}

function readFeature(table, place) {
  need(isTable(table), `feature ${place} must be an object`, table);
  const { name, question = "", values, edges } = table;
  need(isText(name) && isText(question), "name and question must be text", table);
  const unknown = keysOf(table).filter((key) => !["name", "question", "values", "edges"].includes(key));
  need(!unknown.length, `${name}: unknown key`, unknown);
  if (values !== undefined) {
    const texts = Array.isArray(values) && values.every((value) => isText(value));
    const right = texts && values.length > 1 && values.length <= MAX_VALUES && areDifferent(values);
    need(right, `${name}: values must be 2 to ${MAX_VALUES} different texts`, values);
  }
  if (edges !== undefined) {
    const right = values && Array.isArray(edges) && edges.length === values.length + 1 && areRising(edges.map(edgeNumber));
    need(right, `${name}: edges must be rising numbers as text, one more than values`, edges);
  }
  return table;
}

function edgeNumber(edge) {
  return isText(edge) ? numberOf(edge) : null;
}

function parts(where, table, kinds) {
  const keys = keysOf(kinds);
  const right = isTable(table) && keysOf(table).length === keys.length;
  const filled = right && keys.every((key) => has(table, key) && kinds[key](table[key]));
  need(filled, `${where} must have ${keys}, none empty, and nothing else`, table);
  return table;
}

const has = Object.hasOwn;
const keysOf = Object.keys;
const isText = (value) => typeof value === "string";
const isObject = (value) => typeof value === "object" && value !== null;
const isTable = (value) => isObject(value) && !Array.isArray(value);
const isList = (value) => Array.isArray(value) && value.length > 0;
const ARM_PARTS = {
  name: (name) => isText(name) && name !== "",
  share: (share) => Number.isInteger(share) && share !== 0,
  blocks: isList,
};
const BLOCK_PARTS = { features: isList, protocol: (protocol) => isTable(protocol) && keysOf(protocol).length > 0 };

function readArm(where, table, features) {
  const blocks = parts(where, table, ARM_PARTS).blocks.map((block, number) =>
    readBlock(`${where}, block ${number}`, block, features),
  );
  const places = blocks.map((block) => block.places);
  const right = areDifferent(places.flat()) && areRising(places.map(([first]) => first));
  need(right, `${where} must ask a feature once, blocks in order`, places);
  return blocks;
}

function readBlock(where, table, all) {
  const { features: places, protocol } = parts(where, table, BLOCK_PARTS);
  const right = areRising(places) && places.every((place) => Number.isInteger(place) && place >= 0 && place < all.length);
  need(right, `${where}: features must be places below ${all.length}, rising`, places);
  const features = places.map((place) => all[place]);
  const levels = features.map(({ values }) => values?.length ?? 2); // how many answers each feature has
  const m = features.length > 1 || features[0].values ? levels.reduce((a, b) => a * b) : 1; // 1 for a flag alone
  need(m <= MAX_VALUES, `${where}: at most ${MAX_VALUES} combinations`, m);
  checkProtocol(where, protocol, m);
  const open = protocol.name === "public";
  need(!open || features.length === 1, `${where}: public is for one feature`, places);
  const ratio = PROTOCOLS[protocol.name].ratio(m, protocol).map(BigInt); // products of integers below 2^53
  return { places, features, levels, m, protocol, public: open, ratio };
}

function checkProtocol(where, protocol, m) {
  const { name, p, q, size } = protocol;
  need(isText(name) && has(PROTOCOLS, name), `${where}: unknown protocol`, name);
  const { numbers, flags, choices } = PROTOCOLS[name];
  need(m > 1 ? choices : flags, `${where}: not for a ${m > 1 ? "choice" : "flag"}`, name);
  const [wanted, found] = [keysOf(numbers), keysOf(protocol)];
  const same = found.length === wanted.length + 1 && wanted.every((key) => has(protocol, key));
  need(same, `${where}: ${name} has the numbers (${wanted})`, found);
  for (const [key, [least, most]] of Object.entries(numbers)) {
    const right = Number.isInteger(protocol[key]) && protocol[key] >= least && protocol[key] <= most;
    need(right, `${where}: ${key} must be a whole number from ${least} to ${most}`, protocol[key]);
  }
  need(!numbers.p || p < q, `${where}: p must be below q`, protocol);
  need(!numbers.size || size * SCALE < q * m, `${where}: q must be above ${size}/${m} of ${SCALE}`, q);
}

function checkArms(tables, arms, names) {
  const shares = tables.map(({ share }) => share);
  need(areDifferent(tables.map(({ name }) => name)), "arms must have different names", tables);
  const whole = shares.every((share) => share > 0) && shares.reduce((a, b) => a + b, 0) === SCALE;
  need(whole, `shares must be above 0 and sum to ${SCALE}`, shares);
  const asked = new Set(arms.flat().flatMap(({ places }) => places));
  const never = names.filter((_, place) => !asked.has(place));
  need(!never.length, "every feature must be asked in some arm", never);
  const open = arms.map((arm) => arm.filter((block) => block.public).map(({ places }) => places) + "");
  need(new Set(open).size === 1, "public must be the same in every arm", open);
}

function checkForm(document, tables, arms) {
  const right = !has(document, "assigned") || (document.assigned === true && arms.length > 1);
  need(right, "assigned must be true, of several arms", document.assigned);
  if (arms.length === 1 && document.version === 2) {
    const together = arms[0].some(({ places }) => places.length > 1) && tables[0].name === EVERYBODY;
    need(together, `one arm must be ${EVERYBODY} with a block of several features`, tables);
  }
}

// -- exact numbers: fractions of long integers -------------------------------------------------------------------------

const isAbove = ([a, b], [c, d]) => a * d > c * b;
const product = (ratios) => ratios.reduce(([a, b], [c, d]) => [a * c, b * d], [1n, 1n]);
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
  return features.reduce((code, feature, at) => code * levels[at] + encode(feature, answerTo(record, feature.name)), 0);
}

function answerTo(record, name) {
  fit(isTable(record), "a record is an object such as {smoker: true}");
  fit(has(record, name), `column ${shown(name)} is missing`);
  return record[name];
}

function fit(right, what) {
  if (!right) throw new AnswerError(what);
}

function encode({ name, values, edges }, answer) {
  const column = `column ${shown(name)}`;
  const number = numberOf(answer);
  fit((answer ?? "") !== "" && !Number.isNaN(number), `${column} has no answer (null); leave the record out`);
  if (!values) {
    const code = isText(answer) ? FLAG_WORDS.get(answer) : [0, 1].indexOf(number);
    fit(code >= 0, `${column} is a flag and takes true, false, 1 or 0`);
    return code;
  }
  const another = typeof answer === "boolean" || (number === null && !isText(answer));
  fit(!another, `${column} takes text or a number, and got another type`);
  const code = values.indexOf(isText(answer) ? answer : numberText(number));
  if (code >= 0) return code;
  fit(edges, `${column}: the answer is not one of its values ${shown(values)}`);
  fit(number !== null, `${column} takes a number`);
  const bounds = edges.map(numberOf);
  const last = bounds.at(-1);
  const within = bounds[0] <= number && number <= last;
  fit(within, `${column}: the answer is outside its ranges, ${edges[0]} to ${edges.at(-1)}`);
  return number === last ? values.length - 1 : bounds.findIndex((bound) => bound > number) - 1;
}

/** A number, also from text such as "-1.5e3" or "inf", or from true and false; null for anything else. */
function numberOf(answer) {
  if (answer === "inf" || answer === "-inf") return answer === "inf" ? Infinity : -Infinity;
  if (isText(answer)) return NUMBER.test(answer) ? Number(answer) : null;
  return typeof answer === "number" || typeof answer === "boolean" ? Number(answer) : null;
}

/** Write a number as a choice's values write it: whole ones without a point, others as short as is exact. */
function numberText(number) {
  if (Number.isInteger(number)) return BigInt(number).toString();
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  return Math.abs(number) < 1e-4 ? number.toExponential().replace(/e-(\d)$/, "e-0$1") : String(number);
}

// -- small things ------------------------------------------------------------------------------------------------------

const areDifferent = (list) => new Set(list).size === list.length;
const areRising = (list) => list.every((one, at) => one !== null && (!at || list[at - 1] < one));

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const pairs = keysOf(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${pairs}}`;
}

function shown(value) {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? text.slice(0, 200) + "..." : text;
}

function freeze(value) {
  if (isObject(value)) Object.values(value).forEach(freeze);
  return Object.freeze(value);
}
