/* One respondent's answers, randomized on their own device: the browser's twin of deniable's client.py.

   A module without dependencies. `report` is the whole of it:

       record + plan's JSON  --(the browser's randomness, WebCrypto)-->  a fixed number of bytes

   For the same plan, answers and draws the bytes are those of client.py; spec/report-format.md has every rule. A plan
   has one or more arms, each a list of blocks: one question, or several that are randomized together, as one choice
   over all combinations of their answers. The arm is drawn before any answer is looked at, and only what it asks is
   looked at. Every probability is an integer over 65 536 and every draw a 16-bit integer compared with it. No draw is
   skipped because of the answer. No error quotes an answer. Where WebCrypto is missing, everything here throws.

   Answers to a plan with `repeat` are kept in this browser and sent again, with a fresh coin over each of them if the plan
   has one: a `Keeper` stores them and sums up what was spent, or they follow from a secret by HMAC. What is stored is
   sent also if the true answers change; derived from a secret, a changed answer costs epsilon once more. What a plan
   promises, in words for a respondent, is in promise.js beside this file. */

// -- errors -----------------------------------------------------------------------------------------------------------

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

/** What is stored is damaged or foreign, or a report would spend more than the ceiling. */
export class KeepingError extends DeniableError {}

/** Functions that throw an error of a kind, with what was found, unless something is right. */
const refusing = (Kind) => (right, what, found) => {
  if (!right) throw new Kind(found === undefined ? what : `${what}; found ${shown(found)}`);
};
const need = refusing(PlanError);
const fit = refusing(AnswerError);
const safe = refusing(KeepingError);

/** Refuse a plan that breaks a rule of spec/report-format.md. */
const follow = (right, rule, found) => {
  need(right, `the plan breaks the format (${rule})`, found);
};

// -- small things; they stand first because the minifier gives the shortest names first -------------------------------

const { hasOwn: has, keys: keysOf, values: valuesOf } = Object;
const asJson = JSON.stringify;
const { isArray } = Array;
const copy = structuredClone;
const whole = BigInt;
const { isInteger } = Number;
const nameOf = ({ name }) => name;
const shareOf = ({ share }) => share;
const sumOf = (list) => list.reduce((a, b) => a + b, 0);
const bytesOf = (given) => new Uint8Array(given); // so many zeros, or what is given
const quotient = (a, b) => (a / b) | 0; // whole, and below 2^31
const isBytes = (value) => value instanceof Uint8Array;
const utf8 = (text) => new TextEncoder().encode(text);
const hex = (buffer) => [...bytesOf(buffer)].map((byte) => byte.toString(16).padStart(2, 0)).join("");
const isText = (value) => typeof value === "string";
const isObject = (value) => value === Object(value);
const isTable = (value) => isObject(value) && !isArray(value);
const isList = (value) => isArray(value) && value.length;
const sizeOf = (table) => keysOf(table).length;
const isPublic = (block) => block.public;
const showsOne = ({ protocol }) => /^[prG]/.test(protocol.name); // public, randomized response and GRR show one answer
const armBits = ({ arms }) => bitLength(arms.length - 1);
const isBetween = (value, least, most) => isInteger(value) && value >= least && value <= most;
const distinct = (list) => new Set(list).size;
const areDifferent = (list) => !(distinct(list) in list);
const areRising = (list) => list.every((one, at) => !at || list[at - 1] < one);

const canonical = (value, keys) => {
  if (isArray(value)) return `[${value.map((one) => canonical(one))}]`;
  if (!isObject(value)) return asJson(value);
  const sorted = (keys ?? keysOf(value)).sort((a, b) => (hex(utf8(a)) < hex(utf8(b)) ? -1 : 1)); // by code points, as Python sorts
  return `{${sorted.map((key) => `${asJson(key)}:${canonical(value[key])}`)}}`;
};

const shown = (value) => asJson(value).slice(0, 200);

const freeze = (value) => {
  if (isObject(value)) valuesOf(value).forEach(freeze);
  return Object.freeze(value);
};

// -- constants --------------------------------------------------------------------------------------------------------

const SCALE = 65536; // Probabilities, and the shares of arms, are integers over this.
const PRIME = 2 ** 31 - 1; // Hashes are polynomials modulo this prime.
const EVERYBODY = "everybody"; // A plan without arms has one arm of this name.
const MAX_VALUES = 4096; // A choice has at most so many values, and a block so many combinations of answers.
const MAX_BYTES = 2 ** 22; // A plan has at most so many bytes as JSON in UTF-8.
const MAX_DEPTH = 64; // At most so many of its objects and lists stand in each other.
const MAX_DIGITS = 1000; // A number of it has at most so many digits, with its sign, point and exponent.
const ONE = 1n << 256n; // Logarithms are integers over this.
const UNITS = 2 ** 32; // A ledger counts epsilon in whole parts of this, rounded up, so that sums are exact.
const DAMAGED = "kept: damaged or of another plan"; // It is left as it is.
const MEANING = ["version", "features", "arms", "assigned", "repeat", "fresh"]; // These parts of a plan make its fingerprint.
const PLAN_KEYS = [...MEANING, "epsilon", "fingerprint", "want", "n", "design", "reading"]; // A plan has no others.
const NEW_KEYS = ["missing", "label", "labels", "question_label", "help"]; // A feature has these in version 2 alone.
const KEYS = ["name", "question", "values", "edges", ...NEW_KEYS]; // A feature has no others.

const FLAG_WORDS = /^([Tt]rue|TRUE|[Ff]alse|FALSE|[01])$/;
const NUMBER = /^([+-]?(\d+\.?|\d*\.\d+)([eE][+-]?\d+)?|-?inf)$/;
const TOKENS = /"(?:[^"\\]|\\.)*"|([{[])|([}\]])|:|[-\d][-+.\deE]*/g; // the parts of valid JSON that matter to `checkText`
const HALF_A_PAIR = /\p{Cs}/u; // half of a surrogate pair, which is no Unicode
const CONTROL = /[\p{Cc}\u2028-\u202e]/u; // control characters, ends of lines, and turns of the direction of writing
const UNSEEN = /[\p{Cf}\p{DI}]/gu; // letters without ink and width: format characters, and default ignorable ones
const BLANKS = /[\p{Z}\u2800]+/gu;
const CHECKED = new WeakSet(); // Plans that `read` made; nobody else can add one.

// -- what a page calls ------------------------------------------------------------------------------------------------

/** Randomize one record as a plan says; gives the bytes to send. See deniable.d.ts for the options. */
const report = async (record, plan, { secret, ...options } = {}) => {
  const checked = await agreedPlan(plan, options);
  need(!checked.kept === !secret, "secret: needed if kept, else none");
  return secret // which gives the arm, too: no other is taken, and none where arms are assigned, for nothing remembers which
    ? again(await derived(secret, record, checked, ownArm(await derivedArm(secret, checked), options.arm)), checked)
    : reportFrom(systemRandomness, record, checked, options.arm);
};

/** The plan, checked; and refused if it is not what was agreed to, by the options of `report`. */
const agreedPlan = async (plan, options = {}) => {
  const { expect = null, atMost = 8, public: names = [], arm, ...unknown } = options;
  const listed = isText(names) || isArray(names);
  const right = listed && isText(expect ?? "") && typeof atMost === "number" && atMost > 0;
  need(right && !sizeOf(unknown), "wrong expect, atMost, public or arm", keysOf(options)); // no values: one might be an answer
  const agreed = [names].flat();
  const checked = await read(plan);
  const same = expect === null || expect === checked.fingerprint;
  need(same, `the plan's fingerprint must be ${expect}`, checked.fingerprint);
  need(checked.epsilon <= atMost, `epsilon must be at most ${atMost}`, checked.epsilon);
  const others = checked.public.filter((name) => !agreed.includes(name));
  need(!others[0], "shown, but not in public", others);
  return checked;
};

/** `report` with its randomness as an argument and without its refusals: for tests, never for real answers.
    A source with `begin` is told what is drawn for: the arm, or a block and its answer. */
const reportFrom = async (source, record, plan, arm) => {
  const checked = await read(plan);
  const number = armNumber(checked, arm, source);
  const [bytes, put] = writer(checked, number);
  const blocks = checked.arms[number];
  const codes = blocks.map((block) => blockCode(block, record));
  blocks.forEach((block, at) => {
    source.begin?.(`${number}/${at}/${codes[at]}`);
    perturb(block, codes[at], source, put);
  });
  return bytes;
};

/** Bytes of a report that is written, field by field, from the lowest bit on. */
const writer = (plan, number) => {
  const bytes = bytesOf(plan.length);
  let position = 0;
  const put = (field, width) => {
    for (let place = 0; place < width; place++, position++) {
      bytes[position >> 3] |= ((field >>> place) & 1) << (position & 7);
    }
  };
  put(number, armBits(plan));
  return [bytes, put];
};

/** Draw an arm: its name, for `questions` and then for `report`. */
const drawArm = async (plan, arm, source = systemRandomness) => {
  const checked = await read(plan);
  return checked.names[armNumber(checked, arm, source)];
};

/** List the features that an arm asks, as the plan's JSON has them, in its order; what is public is marked. */
const questions = async (plan, arm) => {
  const checked = await read(plan);
  const asked = [];
  for (const { places, features, public: open } of checked.arms[armNumber(checked, arm ?? "")]) {
    places.forEach((place, at) => (asked[place] = { ...features[at], ...(open && { public: true }) }));
  }
  return asked.flat(); // without the places of what is not asked
};

/** SHA-256, in hexadecimal, of what a parsed plan means, as JSON with sorted keys, no spaces, in UTF-8. */
const fingerprint = async (plan) => {
  const { subtle } = webCrypto();
  return hex(await subtle.digest("SHA-256", utf8(canonical(plan, MEANING.filter((key) => has(plan, key))))));
};

/** Read and check a plan's JSON, as text or parsed, once for many reports; gives what all functions here take. */
const read = async (plan) => {
  if (CHECKED.has(plan)) return plan;
  const document = parse(plan);
  checkStated(document, "fingerprint", await fingerprint(document));
  const { version, assigned, repeat, fresh, epsilon } = document;
  const tables = version === 1 ? armsOfVersion1(document) : document.arms;
  const features = document.features.map((table) => readFeature(table, version));
  const names = features.map(nameOf);
  checkTexts(features.flatMap((feature) => [...new Set([feature.name, titleOf(feature)])]));
  checkTexts([...new Set([...names, ...features.map(({ name, question = name }) => question)])]);
  follow(isList(tables), "arms", tables);
  const arms = tables.map((table) => readArm(table, features));
  checkArms(tables, arms, names);
  follow(assigned === undefined || (assigned === true && arms[1]), "assigned", assigned);
  const isCoin = repeat && isBetween(fresh, 1, SCALE - 1) && arms.flat().every(showsOne);
  const right = (repeat === undefined || repeat === "keep") && (fresh === undefined || isCoin);
  follow(right, "repeat", [repeat, fresh]);
  const isNew = repeat || arms[0].some(({ places }) => places[1]) || features.some((feature) => NEW_KEYS.some((key) => has(feature, key)));
  const usual = version === 1 || arms[1] || (tables[0].name === EVERYBODY && isNew);
  follow(usual, `one arm: ${EVERYBODY}`, tables);
  checkStated(document, "epsilon", logUp(ratio(arms, SCALE)));
  const widths = arms.map((arm) => sumOf(arm.map(widthOf)));
  const checked = {
    fingerprint: document.fingerprint,
    epsilon, // of a whole report, in the largest arm
    kept: repeat ? (fresh ?? SCALE) : false, // the numerator of the fresh coin, 65 536 without one, if answers are kept
    names: tables.map(nameOf),
    shares: tables.map(shareOf),
    arms,
    public: arms[0].filter(isPublic).map(({ features: [only] }) => only.name),
    assigned: !!assigned,
    length: (bitLength(arms.length - 1) + Math.max(...widths) + 7) >> 3, // bytes of a report
  };
  CHECKED.add(freeze(checked));
  return checked;
};

// -- randomness -------------------------------------------------------------------------------------------------------

const webCrypto = () => {
  const found = globalThis.crypto;
  if (typeof found?.getRandomValues !== "function" || !found.subtle) {
    throw new DeniableError("no WebCrypto: use https or localhost");
  }
  return found;
};

const systemRandomness = (count) => webCrypto().getRandomValues(bytesOf(count));

const draw = (source, [low, high] = source(2)) => low | (high << 8);

const uniform = (m, source) => {
  const share = quotient(SCALE, m); // each value owns this many of the 65 536 draws; the few left are drawn again
  let drawn;
  do drawn = draw(source);
  while (drawn >= share * m);
  return quotient(drawn, share);
};

const armNumber = (plan, arm, source) => {
  if (arm !== null && arm !== undefined) {
    const number = plan.names.indexOf(arm);
    need(number >= 0, `the arm must be one of ${shown(plan.names)}`);
    return number;
  }
  need(!plan.assigned, "the arm is assigned");
  if (!plan.arms[1]) return 0;
  source.begin?.("arm");
  let left = draw(source);
  return plan.shares.findIndex((share) => (left -= share) < 0);
};

// -- protocols: each has its numbers, what it is for, e^epsilon, and how it randomizes a code and puts it into bits -----

const bits = (code, m, { p, q }, source, put) => {
  let column = m > 1 ? 0 : 1; // a flag's one bit is that of true
  for (let left = m; left--; column++) put(draw(source) < (column === code ? q : p), 1);
};

const keepOrUniform = (code, m, { keep }, source, put) => {
  const coin = draw(source);
  const other = uniform(m, source); // drawn even when the answer is kept, or the time taken would show the coin
  put(coin < keep ? code : other, bitLength(m - 1));
};

const subset = (code, m, { q, size }, source, put) => {
  const coin = draw(source);
  const others = [...bytesOf(m - 1)].map((_, other) => other + (other >= code)); // all values but the true one
  for (let place = 0; place < size; place++) {
    const at = place + uniform(m - 1 - place, source); // the last is drawn even if the true value takes its place
    [others[place], others[at]] = [others[at], others[place]];
  }
  const chosen = others.slice(0, size);
  if (coin < q) chosen[size - 1] = code;
  bytesOf(m).forEach((_, value) => put(chosen.includes(value), 1));
};

const hashed = (code, m, protocol, source, put) => {
  const seed = [0, 0, 0, 0].map(() => {
    let drawn;
    do drawn = (draw(source) | (draw(source) << 16)) & PRIME;
    while (drawn >= PRIME);
    return drawn;
  });
  const hash = seed.reduceRight((h, c) => (h * code + c) % PRIME, 0); // below 2^43 at each step, so exact
  for (const c of seed) put(c, 32);
  keepOrUniform(quotient(hash * protocol.buckets, PRIME), protocol.buckets, protocol, source, put);
};

// Fractions are pairs of integers below 2^53: numerator, denominator; with a fresh coin over 65 536^2, or twice that.
const keepRatio = (values, kept) => [SCALE ** 2 - kept + values * kept, SCALE ** 2 - kept];
const flagRatio = (m, { p, q }, fresh) => {
  const [a, b] = [p, q].map((one) => 2 * fresh * one + (SCALE - fresh) * SCALE);
  const all = 2 * SCALE ** 2;
  return a + b < all ? [b, a] : [all - a, all - b]; // the larger one
};
const PROTOCOLS = {
  "randomized response": [["p", "q"], flagRatio, bits],
  "GRR": [["keep"], (m, { keep }, fresh) => keepRatio(m, keep * fresh), keepOrUniform],
  "subset selection": [["q", "size"], (m, { q, size }) => [q * (m - size), (SCALE - q) * size], subset],
  "unary encoding": [["p", "q"], (m, { p, q }) => [q * (SCALE - p), p * (SCALE - q)], bits],
  "local hashing": [["keep", "buckets"], (m, { keep, buckets }) => keepRatio(buckets, keep * SCALE), hashed],
  "public": [[], () => [1, 1], (code, m, protocol, source, put) => put(code, bitLength(m - 1) || 1)],
};

/** e^epsilon of a whole report in the arm where it is largest, after a fresh coin: numerator and denominator. */
const ratio = (arms, fresh) => {
  const ofBlock = ({ m, protocol }) => PROTOCOLS[protocol.name][1](m, protocol, fresh).map(whole);
  const products = arms.map((arm) => arm.map(ofBlock).reduce(([a, b], [c, d]) => [a * c, b * d]));
  return products.reduce(([a, b], [c, d]) => (a * d < c * b ? [c, d] : [a, b]));
};

/** Randomize a block's code and put it into bits. */
const perturb = ({ m, protocol }, code, source, put) => PROTOCOLS[protocol.name][2](code, m, protocol, source, put);

/** The bits of a block's field: those that it puts if all draws are zero. */
const widthOf = (block) => {
  let bits = 0;
  perturb(block, 0, bytesOf, (_, width) => (bits += width));
  return bits;
};

// -- the plan ---------------------------------------------------------------------------------------------------------

const parse = (plan) => {
  let text = plan;
  let document;
  try {
    if (isObject(plan)) text = asJson(plan);
    document = isText(text) && utf8(text).length <= MAX_BYTES && JSON.parse(text);
  } catch {}
  follow(isTable(document), "JSON of up to 4 MB", typeof plan);
  checkText(text);
  const { version, features } = document;
  const known = isBetween(version, 1, 2) && isArray(features) && features.every(isTable);
  follow(known, "version", version);
  checkKeys(document, version, PLAN_KEYS);
  return document;
};

/** Refuse what JSON.parse lets pass: a key that stands twice, an integer with a point or an exponent, no Unicode. */
const checkText = (text) => {
  const open = []; // the keys so far of each object that is open; of each list none
  let top, last; // the key of the plan that we are in, and the last text
  for (const [token, opens, closes] of text.matchAll(TOKENS)) {
    const keys = open.at(-1);
    if (opens) follow(open.push(new Set()) <= MAX_DEPTH, "depth", top);
    else if (closes) open.pop();
    else if (token === ":") {
      follow(!keys.has(last), "keys", last);
      keys.add(last);
      if (!open[1]) top = last;
    } else if (token[0] === '"') follow(!HALF_A_PAIR.test((last = JSON.parse(token))), "letters", top);
    else follow(!token[MAX_DIGITS] && (!/[.eE]/.test(token) || !MEANING.includes(top)), "integers", token);
  }
};

const checkStated = (document, key, made) => {
  need(document[key] === made, `the plan was changed: its ${key} is ${made}`, document[key]);
};

/** A plan of version 1 has one arm, and a protocol in each feature. */
const armsOfVersion1 = ({ features }) => {
  const blocks = features.map(({ protocol }, place) => ({ features: [place], protocol }));
  for (const feature of features) delete feature.protocol;
  return [{ name: EVERYBODY, share: SCALE, blocks }];
};

const readFeature = (table, version) => {
  checkKeys(table, version, KEYS);
  const { name, values = [], edges, labels = {}, ...texts } = table;
  const { missing } = texts;
  for (const text of [name, ...valuesOf(texts)]) checkTexts([text]);
  const enough = isArray(values) && (!table.values || isBetween(values.length, 2, MAX_VALUES));
  const right = enough && isTable(labels) && keysOf(labels).every((key) => values.includes(key));
  follow(right, "values", table);
  checkTexts([...values, ...valuesOf(labels)]);
  const isRanged = edges !== undefined;
  const among = values[0] ? values.includes(missing, isRanged ? -1 : 0) : missing && !FLAG_WORDS.test(seen(missing));
  follow(!missing || among, "missing", table);
  const asMany = isArray(edges) && edges[2] && edges.length === values.length + !missing && edges.every(isText);
  const named = asMany && areRising(edges.map(numberOf)) && rangesOf(edges).every((range, at) => range === values[at]);
  follow(!isRanged || named, "edges", table);
  return table;
};

/** What people read as a question: its label, or else its name; of a multi-select question, both parts. */
const titleOf = ({ name, question, label, question_label: whole }) =>
  question ? `${whole ?? question}: ${label ?? name.replace(`${question}: `, "")}` : (label ?? name);

const checkKeys = (table, version, known) => {
  const found = keysOf(table);
  const isOld = (key) => ![...MEANING.slice(2), ...NEW_KEYS].includes(key);
  follow(found.every((key) => known.includes(key) && (version > 1 || isOld(key))), "keys", found);
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
const checkTexts = (texts) => {
  const right = texts.every((text) => isText(text) && !CONTROL.test(text) && seen(text));
  follow(right && areDifferent(texts.map(seen)), "texts", texts);
};

/** What can be seen of a text: no letters without ink or width, NFC, and any blanks as one, none at the ends. */
const seen = (text) => text.replace(UNSEEN, "").replace(BLANKS, " ").normalize().trim();

const readArm = (table, features) => {
  const { share, blocks: tables } = table ?? {};
  const right = isBetween(share, 1, SCALE) && isList(tables) && sizeOf(table) === 3; // the third is checked with all names
  follow(right, "arm", table);
  const blocks = tables.map((block) => readBlock(block, features));
  const places = blocks.map((block) => block.places);
  const inOrder = areDifferent(places.flat()) && areRising(places.map(([first]) => first));
  follow(inOrder, "order", places);
  return blocks;
};

const readBlock = (table, all) => {
  const { features: places, protocol } = table ?? {};
  const inside = isList(places) && areRising(places) && places.every((place) => isBetween(place, 0, all.length - 1));
  follow(inside && isTable(protocol) && sizeOf(table) === 2, "block", table);
  const features = places.map((place) => all[place]);
  const levels = features.map(({ values, missing }) => values?.length ?? (missing ? 3 : 2)); // answers of each feature
  const alone = !features[1] && !features[0].values && levels[0] === 2;
  const m = alone ? 1 : levels.reduce((a, b) => a * b); // 1 for a flag alone, which has one bit
  follow(m <= MAX_VALUES, "size", m);
  const { name, p, q, size } = protocol;
  const open = name === "public";
  const numbers = isText(name) && has(PROTOCOLS, name) && PROTOCOLS[name][0];
  const within = (key) => isBetween(protocol[key], ...(key === "buckets" ? [2, MAX_VALUES] : [1, SCALE - 1]));
  const fits = open ? !features[1] : m > 1 === (name?.[0] !== "r"); // randomized response is for flags alone
  const apart = (!p || p < q) && (!size || size * SCALE < q * m);
  follow(numbers && numbers.every(within) && sizeOf(protocol) === numbers.length + 1 && fits && apart, "protocol", protocol);
  return { places, features, levels, m, protocol, public: open };
};

const checkArms = (tables, arms, names) => {
  const shares = tables.map(shareOf);
  checkTexts(tables.map(nameOf));
  follow(sumOf(shares) === SCALE, "shares", shares);
  const asked = arms.flat().flatMap(({ places }) => places);
  follow(distinct(asked) === names.length, "features", asked);
  const open = arms.map((arm) => `${arm.filter(isPublic).map(({ places }) => places)}`);
  follow(distinct(open) < 2, "public", open);
};

// -- exact numbers: fractions of long integers -------------------------------------------------------------------------

const bitLength = (number) => 32 - Math.clz32(number);

/** The logarithm of a fraction from 1 on, rounded up to the next 64-bit float: never understated. */
const logUp = ([a, b]) => {
  const shift = whole(a.toString(2).length - b.toString(2).length);
  const near = b << shift; // a / near is from 1/2 to 2
  const exact = logOfRatio(a, near) + shift * logOfRatio(2n, 1n);
  const nearest = Number(exact);
  const float = new Float64Array([nearest / Number(ONE)]);
  if (whole(nearest) < exact) new BigUint64Array(float.buffer)[0] += 1n; // the next float
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

const blockCode = ({ features, levels }, record) => {
  fit(isTable(record), "a record is an object");
  return features.reduce((code, feature, at) => code * levels[at] + encode(feature, record), 0);
};

const encode = ({ name, values, edges, missing }, record) => {
  const column = `column ${shown(name)}`;
  const given = has(record, name) ? record[name] : null;
  const none = (given ?? "") === "" || given !== given; // which NaN alone is
  fit(!none || missing, `${column} has no answer`);
  const answer = none ? missing : given;
  if (!values) {
    if (answer === missing) return 2;
    const word = /(g|r|an)$/.test(typeof answer) ? `${answer}` : ""; // string, number or boolean
    fit(FLAG_WORDS.test(word), `${column} takes true, false, 1 or 0`);
    return +/^[tT1]/.test(word);
  }
  const number = numberOf(answer);
  const text = isText(answer) ? answer : edges || isNaN(number) ? "" : numberText(number); // no range is called by a number
  const code = values.indexOf(text);
  if (code >= 0) return code;
  fit(edges, `${column} takes one of its values`);
  const bounds = edges.map(numberOf);
  const below = bounds.filter((bound) => bound <= number).length;
  fit(below && number <= bounds.at(-1), `${column} takes a number in its ranges`);
  return Math.min(below, bounds.length - 1) - 1; // the last range has its upper edge
};

/** A number, also from text such as "-1.5e3" or "inf"; NaN for anything else. */
const numberOf = (answer) => {
  if (typeof answer === "number") return answer;
  return isText(answer) && NUMBER.test(answer) ? +answer.replace("inf", "Infinity") : NaN;
};

/** Write a number as a choice's values write it: whole ones without a point, others as short as is exact. */
const numberText = (number) => {
  if (isInteger(number)) return `${whole(number)}`;
  if (!isFinite(number)) return number > 0 ? "inf" : "-inf";
  return Math.abs(number) < 1e-4 ? number.toExponential().replace(/e-(\d)$/, "e-0$1") : `${number}`;
};

// -- answers that are kept ---------------------------------------------------------------------------------------------

const keptPlan = async (plan) => {
  const checked = await read(plan);
  need(checked.kept, "its answers are not kept");
  return checked;
};

const ownArm = (arm, given) => {
  safe((given ?? arm) === arm, `this device keeps its arm, ${arm}`);
  return arm;
};

/** What to send of kept bytes: the same, or with a fresh coin over each answer. Bytes of another plan are refused.
    Another randomness is for tests, never for real answers. */
const again = async (kept, plan, source = systemRandomness) => {
  const checked = await keptPlan(plan);
  const { arms, kept: keep, length } = checked;
  const fits = (right) => safe(right, DAMAGED);
  fits(isBytes(kept) && kept.length === length);
  const left = [...kept].flatMap((byte) => [..."01234567"].map((place) => (byte >> place) & 1));
  const take = (width) => left.splice(0, width).reduceRight((field, bit) => 2 * field + bit, 0);
  const number = take(armBits(checked));
  fits(number < arms.length);
  const [bytes, put] = writer(checked, number);
  for (const block of arms[number]) {
    const levels = Math.max(block.m, 2);
    let width = widthOf(block);
    if (showsOne(block)) {
      const index = take(width);
      fits(index < levels);
      if (block.public || keep === SCALE) put(index, width);
      else keepOrUniform(index, levels, { keep }, source, put);
    } else while (width--) put(take(1), 1);
  }
  fits(!left.includes(1));
  return bytes;
};

/** The kept bytes that follow from a secret, for `again`. They must not be sent themselves. Those of each arm are another
    report, which costs epsilon once more: `report` makes that of `derivedArm` alone. */
const derived = (secret, record, plan, arm) =>
  withSecret(secret, plan, (source, checked) => reportFrom(source, record, checked, arm));

/** The arm that follows from a secret: its name, for `questions` and then for `report`. */
const derivedArm = (secret, plan) => withSecret(secret, plan, (source, checked) => drawArm(checked, null, source));

/** Let a function draw from a secret: HMAC-SHA256 of `fingerprint/what/0`, then of /1, and so on. As WebCrypto answers
    later, the function starts anew whenever there were too few bytes, and finds more. */
const withSecret = async (secret, plan, use) => {
  const checked = await keptPlan(plan);
  safe(isBytes(secret) && secret.length > 15, "a secret has 16 bytes or more");
  const { subtle } = webCrypto();
  const key = await subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const streams = {};
  let what, stream, at;
  const source = (count) => {
    at += count;
    if (stream.length < at) throw streams;
    return stream.slice(at - count, at);
  };
  source.begin = (next) => {
    at = 0;
    stream = streams[(what = next)] ??= [];
  };
  for (;;) {
    try {
      return await use(source, checked);
    } catch (error) {
      if (error !== streams) throw error;
    }
    const text = `${checked.fingerprint}/${what}/${stream.length / 32}`;
    stream.push(...bytesOf(await subtle.sign("HMAC", key, utf8(text))));
  }
};

/** What a browser keeps and has spent, within a ceiling. `change` changes what is stored in one transaction: it is given a
    function from what is stored (undefined at first) to what is to be, gives that, and stores nothing if it throws. */
export class Keeper {
  #change;

  constructor(change, { ceiling = 8 } = {}) {
    this.ceiling = ceiling;
    this.#change = (next) =>
      change((found) => {
        const content = checkedContent(found);
        next?.(content);
        return content;
      });
  }

  /** The sum of the epsilons of all reports so far, rounded up. */
  async spent() {
    return spentBy(await this.#change());
  }

  /** Whether answers to a plan are kept here already, so that nothing need be asked. */
  async has(plan) {
    const { fingerprint } = await keptPlan(plan);
    return !!(await this.#change()).kept[fingerprint]?.report;
  }

  /** The arm to ask: the kept one; else one is drawn, and kept before any answer is there. */
  async arm(plan, given) {
    const checked = await keptPlan(plan);
    const drawn = { arm: await drawArm(checked, given), report: null };
    const { kept } = await this.#change((content) => (content.kept[checked.fingerprint] ??= drawn));
    return ownArm(kept[checked.fingerprint].arm, given);
  }

  /** Make a report as `report` does, of what was kept if the plan says so, and within the ceiling. */
  async report(record, plan, options) {
    const checked = await agreedPlan(plan, options);
    const { fingerprint, epsilon } = checked;
    const charge = (content) => {
      (content.spent[fingerprint] ??= { epsilon, times: 0 }).times++;
      const all = spentBy(content);
      safe(all <= this.ceiling, `no report: epsilon would be ${all} in all, and the ceiling is ${this.ceiling}`);
    };
    let arm = options?.arm;
    let made;
    if (checked.kept) arm = await this.arm(checked, arm);
    if (!checked.kept || !(await this.has(checked))) {
      await this.#change((content) => charge(copy(content))); // before any answer is looked at
      made = await reportFrom(systemRandomness, record, checked, arm);
    }
    const { kept } = await this.#change((content) => {
      const entry = content.kept[fingerprint];
      if (entry?.report) return; // also if another tab was first
      charge(content); // before the report is given out
      if (entry) entry.report = [...made];
    });
    return checked.kept ? again(bytesOf(kept[fingerprint].report), checked) : made;
  }
}

const spentBy = ({ spent }) => sumOf(valuesOf(spent).map(({ epsilon, times }) => times * Math.ceil(epsilon * UNITS))) / UNITS;

const checkedContent = (found = { deniable: 1, kept: {}, spent: {} }) => {
  const { deniable, kept, spent } = found ?? {};
  const right =
    deniable === 1 &&
    [kept, spent].every(isTable) &&
    valuesOf(spent).every((one) => one?.epsilon >= 0 && isBetween(one.times, 1, UNITS)) &&
    valuesOf(kept).every((one) => isText(one?.arm) && (one.report ?? []).every?.((byte) => isBetween(byte, 0, 255)));
  safe(right, DAMAGED);
  return copy(found);
};

export { again, agreedPlan, derived, derivedArm, drawArm, fingerprint, questions, ratio, read, report, reportFrom };
