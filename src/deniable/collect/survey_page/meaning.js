/* What the bytes of a report say, field by field, for the respondent who is about to send them. */

const SCALE = 65536; // Probabilities are integers over this.
const PRIME = 2 ** 31 - 1; // Hashes are polynomials modulo this prime.

const bitLength = (number) => 32 - Math.clz32(number);
const upTo = (m) => Array.from({ length: m }, (_, code) => code);

/** The integer in so many bits of a report, at most 32, from a place on. */
function integer(bytes, from, width) {
  let found = 0;
  for (let at = width - 1; at >= 0; at--) found = found * 2 + ((bytes[(from + at) >> 3] >> ((from + at) & 7)) & 1);
  return found;
}

const bitsThatAreSet = (bytes, from, m) => upTo(m).filter((code) => integer(bytes, from + code, 1));

/* Each protocol: how many bits its field has; which codes the field names; and how often, as shares of 1, a field names
   the true code (`own`) and one that is not the true one (`other`). A flag by itself has m = 1 and the codes 0 and 1. */
const PROTOCOLS = {
  "randomized response": {
    width: () => 1,
    named: (bytes, from) => [integer(bytes, from, 1)],
    own: (m, { p, q }, [shown]) => (shown ? q : SCALE - p) / SCALE,
    other: (m, { p, q }, [shown]) => (shown ? p : SCALE - q) / SCALE,
  },
  "GRR": {
    width: (m) => bitLength(m - 1),
    named: (bytes, from, m) => [integer(bytes, from, bitLength(m - 1))],
    own: (m, { keep }) => (keep + (SCALE - keep) / m) / SCALE,
    other: (m, { keep }) => (SCALE - keep) / m / SCALE,
  },
  "subset selection": {
    width: (m) => m,
    named: bitsThatAreSet,
    own: (m, { q }) => q / SCALE,
    other: (m, { q, size }) => (size - q / SCALE) / (m - 1),
  },
  "unary encoding": {
    width: (m) => m,
    named: bitsThatAreSet,
    own: (m, { q }) => q / SCALE,
    other: (m, { p }) => p / SCALE,
  },
  "local hashing": {
    width: (m, { buckets }) => 128 + bitLength(buckets - 1),
    named(bytes, from, m, { buckets }) {
      const seed = [0, 1, 2, 3].map((place) => integer(bytes, from + 32 * place, 32));
      const bucket = integer(bytes, from + 128, bitLength(buckets - 1));
      const hash = (code) => seed.reduceRight((h, c) => (h * code + c) % PRIME, 0);
      return upTo(m).filter((code) => Math.floor((hash(code) * buckets) / PRIME) === bucket);
    },
    own: (m, { keep, buckets }) => (keep + (SCALE - keep) / buckets) / SCALE,
    other: (m, { buckets }) => 1 / buckets,
  },
  "public": {
    width: (m) => bitLength(Math.max(m, 2) - 1),
    named: (bytes, from, m) => [integer(bytes, from, bitLength(Math.max(m, 2) - 1))],
    own: () => 1,
    other: () => 0,
  },
};

/** The answers that a block's code stands for, one for each feature: true, false, null (skipped), or a value. */
function answersOf({ features }, code) {
  const answers = [];
  for (const { values, missing } of [...features].reverse()) {
    const levels = values?.length ?? (missing ? 3 : 2);
    answers.unshift(values ? values[code % levels] : [false, true, null][code % levels]);
    code = Math.floor(code / levels);
  }
  return answers;
}

/** Read a report by its plan (as `read` gives it): the arm, and for each of its fields the answers that it names.

    A field has `from` and `width` (bits), `features`, `public`, `named` (a list of answers, one for each feature), and
    `own` and `other`: how often a field names the answers that were given, and any others that were not. */
export function meaning(plan, bytes) {
  let from = bitLength(plan.arms.length - 1);
  const arm = integer(bytes, 0, from);
  const fields = plan.arms[arm].map((block) => {
    const { m, protocol, features } = block;
    const { width, named, own, other } = PROTOCOLS[protocol.name];
    const codes = named(bytes, from, m, protocol);
    const fresh = block.public ? 1 : (plan.kept || SCALE) / SCALE; // what was kept is left as it is so often, each time
    const sent = (share) => fresh * share + (1 - fresh) / Math.max(m, 2);
    const field = {
      from,
      width: width(m, protocol),
      features,
      public: block.public,
      named: codes.map((code) => answersOf(block, code)),
      own: sent(own(m, protocol, codes)),
      other: sent(other(m, protocol, codes)),
    };
    from += field.width;
    return field;
  });
  return { arm: plan.names[arm], armBits: bitLength(plan.arms.length - 1), fields };
}
