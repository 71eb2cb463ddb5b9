/* Answers that are kept and sent again, and what a device spent: the browser's twin of deniable's keeping.py.

   First time: record + plan -> kept bytes, stored in this browser and nowhere else. Each time: kept bytes -> the bytes to
   send, with a fresh coin over each answer if the plan has one. spec/report-format.md has every rule. What is stored is
   sent also if the true answers change. Derived from a secret instead, a changed answer costs epsilon once more. */

import { DeniableError, agreedPlan, drawArm, read, reportFrom } from "./deniable.min.js";

const SCALE = 65536; // Probabilities are integers over this.
const UNITS = 2 ** 32; // A ledger counts epsilon in whole parts of this, rounded up, so that sums are exact.
const LEAST_SECRET = 16; // A secret has at least so many bytes.
const FORMAT = 1; // The version of what is stored.
const ONE_VALUE = ["randomized response", "GRR", "public"]; // These show one answer, which a fresh coin can follow.

/** What is stored is damaged or foreign, or a report would spend more than the ceiling. */
export class KeepingError extends DeniableError {}

function need(right, what) {
  if (!right) throw new KeepingError(what);
}

const systemRandomness = (count) => crypto.getRandomValues(new Uint8Array(count));
const bitLength = (number) => 32 - Math.clz32(number);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

// -- from kept bytes to what is sent -----------------------------------------------------------------------------------

/** What to send of kept bytes: the same, or with a fresh coin over each answer. Bytes of another plan are refused. */
export function again(kept, plan) {
  return againFrom(systemRandomness, kept, plan);
}

/** `again` with its randomness as an argument: for tests, never for real answers. */
export async function againFrom(source, kept, plan) {
  const { arms, kept: fresh, length } = await keptPlan(plan);
  const fits = (right) => need(right, "what was kept is damaged, or of another plan; get it back as it was");
  fits(kept instanceof Uint8Array && kept.length === length);
  const left = Array.from(kept, (byte) => bitsOf(byte, 8)).flat();
  const sent = left.splice(0, bitLength(arms.length - 1));
  fits(numberOf(sent) < arms.length);
  for (const { m, protocol, public: open } of arms[numberOf(sent)]) {
    const levels = Math.max(m, 2);
    const field = left.splice(0, widthOf(m, protocol));
    fits(!ONE_VALUE.includes(protocol.name) || numberOf(field) < levels);
    sent.push(...(fresh < SCALE && !open ? underCoin(numberOf(field), levels, fresh, source) : field));
  }
  fits(!left.includes(1));
  const bytes = new Uint8Array(length);
  sent.forEach((bit, place) => (bytes[place >> 3] |= bit << (place & 7)));
  return bytes;
}

async function keptPlan(plan) {
  const checked = await read(plan);
  need(checked.kept, "answers to this plan are not kept: make its reports by report");
  return checked;
}

function bitsOf(number, width) {
  return Array.from({ length: width }, (_, place) => (number >>> place) & 1);
}

function numberOf(bits) {
  return bits.reduceRight((number, bit) => 2 * number + bit, 0);
}

function widthOf(m, { name, buckets }) {
  if (name === "local hashing") return 128 + bitLength(buckets - 1);
  return ["subset selection", "unary encoding"].includes(name) ? m : bitLength(Math.max(m, 2) - 1);
}

function draw(source) {
  const [low, high] = source(2);
  return low | (high << 8);
}

/** The kept index, or a uniform one: both are drawn, whichever is sent. */
function underCoin(kept, levels, fresh, source) {
  const coin = draw(source);
  const share = Math.floor(SCALE / levels);
  let drawn = SCALE;
  while (drawn >= share * levels) drawn = draw(source);
  return bitsOf(coin < fresh ? kept : Math.floor(drawn / share), bitLength(levels - 1));
}

// -- answers that follow from a secret ---------------------------------------------------------------------------------

/** Make a report of a plan whose answers are kept, from a secret of this device, with nothing stored. */
export async function report(record, plan, { secret, ...options }) {
  const checked = await agreedPlan(plan, options);
  return again(await derived(secret, record, checked, options.arm), checked);
}

/** The kept bytes that follow from a secret, for `again`. They must not be sent themselves. */
export async function derived(secret, record, plan, arm) {
  const checked = await keptPlan(plan);
  const stream = await streams(secret, checked.fingerprint);
  const name = arm ?? (await derivedArm(secret, checked));
  const asked = []; // which blocks are drawn for, of which answers; and how many bytes if nothing is drawn again
  const zeros = (count) => new Uint8Array((asked.at(-1)[1] += count) && count);
  zeros.begin = (what) => asked.push([what, 0]);
  await reportFrom(zeros, record, checked, name);
  for (let more = 64; ; more *= 2) {
    const bytes = await Promise.all(asked.map(([what, count]) => stream(what, count + more)));
    let left, place = 0;
    const source = (count) => {
      if (left.length < count) throw asked; // more was drawn again than there is
      return left.splice(0, count);
    };
    source.begin = () => (left = bytes[place++]);
    try {
      return await reportFrom(source, record, checked, name);
    } catch (error) {
      if (error !== asked) throw error;
    }
  }
}

/** The arm that follows from a secret: its name, for `questions` and then for `report`. */
export async function derivedArm(secret, plan) {
  const { names, shares, fingerprint, assigned } = await keptPlan(plan);
  need(!assigned, "the arm is assigned: give its name");
  if (names.length === 1) return names[0];
  const [low, high] = await (await streams(secret, fingerprint))("arm", 2);
  let left = low | (high << 8);
  return names[shares.findIndex((share) => (left -= share) < 0)];
}

/** The bytes that a secret gives for what is to be drawn: HMAC-SHA256 of `fingerprint/what/0`, then of /1, and so on. */
async function streams(secret, fingerprint) {
  const right = secret instanceof Uint8Array && secret.length >= LEAST_SECRET;
  need(right, `a secret must be ${LEAST_SECRET} or more random bytes`);
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return async (what, count) => {
    const texts = Array.from({ length: Math.ceil(count / 32) }, (_, at) => `${fingerprint}/${what}/${at}`);
    const parts = await Promise.all(texts.map((text) => crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text))));
    return parts.flatMap((part) => [...new Uint8Array(part)]);
  };
}

// -- answers that are stored, and the ledger ---------------------------------------------------------------------------

/** What a browser keeps and has spent, within a ceiling. `change` changes what is stored in one transaction: it is given a
    function from what is stored (undefined at first) to what is to be, gives that, and stores nothing if it throws. */
export class Keeper {
  #change;

  constructor(change, { ceiling = 8 } = {}) {
    this.#change = (next) => change((found) => next(checkedContent(found)));
    this.ceiling = ceiling;
  }

  /** The sum of the epsilons of all reports so far, rounded up. */
  async spent() {
    return spentBy(await this.#change((content) => content));
  }

  /** The arm to ask: the kept one; else one is drawn, and kept before any answer is there. */
  async arm(plan, given) {
    const checked = await keptPlan(plan);
    const drawn = given ?? (await drawArm(checked));
    const { kept } = await this.#change((content) => {
      const entry = content.kept[checked.fingerprint] ?? { arm: drawn, report: null };
      return { ...content, kept: { ...content.kept, [checked.fingerprint]: entry } };
    });
    const { arm } = kept[checked.fingerprint];
    need((given ?? arm) === arm, `this device keeps its arm, ${arm}, and can be asked no other`);
    return arm;
  }

  /** Whether answers to a plan are kept here already, so that nothing need be asked. */
  async has(plan) {
    const { fingerprint } = await keptPlan(plan);
    return !!(await this.#change((content) => content)).kept[fingerprint]?.report;
  }

  /** Make a report as `report` of deniable.js does, of what was kept if the plan says so, and within the ceiling. */
  async report(record, plan, options = {}) {
    const checked = await agreedPlan(plan, options);
    const { fingerprint } = checked;
    const make = async (arm) => reportFrom(systemRandomness, record, checked, arm);
    if (!checked.kept) {
      await this.#change((content) => this.#charged(content, checked)); // first of all, so that no report is without it
      return make(options.arm);
    }
    const arm = await this.arm(checked, options.arm);
    let content = await this.#change((found) => found);
    if (!content.kept[fingerprint].report) {
      this.#charged(content, checked); // refuses before any answer is looked at
      const made = hex(await make(arm));
      content = await this.#change((found) => {
        if (found.kept[fingerprint].report) return found; // another tab was first
        const kept = { ...found.kept, [fingerprint]: { arm, report: made } };
        return { ...this.#charged(found, checked), kept };
      });
    }
    return again(unhex(content.kept[fingerprint].report), checked);
  }

  #charged(content, { fingerprint, epsilon }) {
    const times = (content.spent[fingerprint]?.times ?? 0) + 1;
    const after = { ...content, spent: { ...content.spent, [fingerprint]: { epsilon, times } } };
    const all = spentBy(after);
    need(all <= this.ceiling, `this device would have spent epsilon ${all} in all, and its ceiling is ${this.ceiling}; no report was made`);
    return after;
  }
}

function spentBy({ spent }) {
  return Object.values(spent).reduce((sum, { epsilon, times }) => sum + times * Math.ceil(epsilon * UNITS), 0) / UNITS;
}

function checkedContent(found) {
  if (found === undefined) return { deniable: FORMAT, kept: {}, spent: {} };
  const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  const right = isTable(found) && found.deniable === FORMAT && isTable(found.kept) && isTable(found.spent);
  const entries = right && Object.values(found.spent).every(({ epsilon, times }) => epsilon >= 0 && Number.isInteger(times));
  const reports = entries && Object.values(found.kept).every(({ arm, report }) => typeof arm === "string" && /^([0-9a-f]{2})*$/.test(report ?? ""));
  need(reports, "what is stored is damaged, or no kept answers; it was left as it is");
  return found;
}
