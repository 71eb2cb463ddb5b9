/** A plan's JSON, as text or parsed; or what `read` made of it, which saves time from then on. */
export type Plan = string | object | CheckedPlan;

/** An answer: true or false (or 1, 0) for a flag; one of the values, as text or as a number, for a choice. */
export type Answer = string | number | boolean | null | undefined;

/** One question, as the plan's JSON has it. */
export interface Feature {
  readonly name: string;
  /** The multi-select question that a flag is one answer of. */
  readonly question?: string;
  /** The values of a choice; a feature without them is a flag. */
  readonly values?: readonly string[];
  /** The edges of ranges, as text, one more than there are ranges. */
  readonly edges?: readonly string[];
  /** What a skipped question is called: it may be left out of the record, and is then sent as that. */
  readonly missing?: string;
  /** What people read in place of the name, and below it. */
  readonly label?: string;
  readonly help?: string;
  /** What people read in place of some of the values, and of a multi-select question. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly question_label?: string;
}

/** A question to ask; what is public is sent as it is. */
export interface Question extends Feature {
  public?: true;
}

/** A plan that was read and checked once. Only `read` makes one; it cannot be changed. */
export interface CheckedPlan {
  readonly fingerprint: string;
  /** Of a whole report, in the largest arm. */
  readonly epsilon: number;
  /** The names of the arms. */
  readonly names: readonly string[];
  /** The names of the features that are sent as they are. */
  readonly public: readonly string[];
  /** Whether whoever invites people gives them their arms, so that the device must not draw. */
  readonly assigned: boolean;
  /** The bytes of a report. */
  readonly length: number;
  /** False; or where answers are kept the numerator of the fresh coin, 65 536 without one: epsilon is then of all reports. */
  readonly kept: number | false;
  /** The blocks of each arm, in the order of their fields. */
  readonly arms: readonly (readonly Block[])[];
}

/** One question, or several that are randomized together. */
export interface Block {
  readonly features: readonly Feature[];
  /** The values of a choice, or the combinations of answers of several features; 1 for a flag alone, which has one bit. */
  readonly m: number;
  /** As the plan's JSON has it. */
  readonly protocol: Readonly<Record<string, string | number>>;
  readonly public: boolean;
}

export interface Options {
  /** The fingerprint that the plan must have; without it, any plan that fits together is taken. */
  expect?: string | null;
  /** The largest epsilon of a whole report that is accepted: 8 unless told otherwise. */
  atMost?: number;
  /** The names of the public columns that the respondent agreed to show; a plan with any other is refused. */
  public?: string | readonly string[];
  /** The name of the arm, if `drawArm` gave it before, or whoever invited the respondent; else it is drawn. */
  arm?: string | null;
}

/** The root of all errors that this module throws on purpose. */
export class DeniableError extends Error {}
/** A plan, or a protocol in it, that cannot be used or was not agreed to. */
export class PlanError extends DeniableError {}
/** An answer that does not fit the question. Its message never quotes the answer. */
export class AnswerError extends DeniableError {}
/** What is stored is damaged or foreign, or a report would spend more than the ceiling. */
export class KeepingError extends DeniableError {}

/**
 * Randomize one record as a plan says, by WebCrypto's randomness: the bytes to send, always equally many. Where the plan
 * keeps answers, and there alone, they follow from a `secret` of this device, 16 or more random bytes; nothing is stored.
 * The arm follows from it, too: any other is refused, and so are arms that are assigned.
 */
export function report(
  record: Readonly<Record<string, Answer>>,
  plan: Plan,
  options?: Options & { secret?: Uint8Array },
): Promise<Uint8Array<ArrayBuffer>>;

/** The plan, checked; and refused if it is not what was agreed to, by the options of `report`. */
export function agreedPlan(plan: Plan, options?: Options): Promise<CheckedPlan>;

/** Draw an arm: its name, for `questions` and then for `report`. */
export function drawArm(plan: Plan): Promise<string>;

/** List the questions that an arm asks, in the plan's order; a plan without arms has the arm `everybody`. */
export function questions(plan: Plan, arm: string): Promise<Question[]>;

/** Read and check a plan, once for many reports. */
export function read(plan: Plan): Promise<CheckedPlan>;

/** SHA-256, in hexadecimal, of what a parsed plan means. */
export function fingerprint(plan: object): Promise<string>;

/** e^epsilon of the arm where it is largest, as numerator and denominator; `fresh` is 65 536 without a fresh coin. */
export function ratio(arms: readonly (readonly Block[])[], fresh: number): [bigint, bigint];

/** What to send of kept bytes: the same, or with a fresh coin over each answer. Bytes of another plan are refused.
    Another source of randomness is for tests, never for real answers. */
export function again(
  kept: Uint8Array,
  plan: Plan,
  source?: (count: number) => Uint8Array,
): Promise<Uint8Array<ArrayBuffer>>;

/** The kept bytes that follow from a secret, for `again`. They must not be sent themselves. Those of each arm are another
    report, which costs epsilon once more: `report` makes that of `derivedArm` alone. */
export function derived(
  secret: Uint8Array,
  record: Readonly<Record<string, Answer>>,
  plan: Plan,
  arm?: string | null,
): Promise<Uint8Array<ArrayBuffer>>;

/** The arm that follows from a secret: its name, for `questions` and then for `report`. */
export function derivedArm(secret: Uint8Array, plan: Plan): Promise<string>;

/** What is stored: the bytes of kept answers, and how often each plan's epsilon was spent, by fingerprints. */
export interface Content {
  readonly deniable: 1;
  readonly kept: Readonly<Record<string, { arm: string; report: number[] | null }>>;
  readonly spent: Readonly<Record<string, { epsilon: number; times: number }>>;
}

/** Changes what is stored in one transaction, and gives what is then stored; stores nothing if the function throws. */
export type Change = (next: (found: Content | undefined) => Content) => Promise<Content>;

/** What a browser keeps and has spent, within a ceiling: an aid to an honest page, not a guarantee to others. */
export class Keeper {
  constructor(change: Change, options?: { ceiling?: number });
  ceiling: number;
  /** The sum of the epsilons of all reports so far, rounded up. */
  spent(): Promise<number>;
  /** The arm to ask: the kept one; else one is drawn, and kept before any answer is there. */
  arm(plan: Plan, given?: string | null): Promise<string>;
  /** Whether answers to a plan are kept here already, so that nothing need be asked. */
  has(plan: Plan): Promise<boolean>;
  /** Make a report as `report` does, of what was kept if the plan says so, and within the ceiling. */
  report(
    record: Readonly<Record<string, Answer>>,
    plan: Plan,
    options?: Options,
  ): Promise<Uint8Array<ArrayBuffer>>;
}

/** `report` with its randomness as an argument and without its refusals: for tests, never for real answers. */
export function reportFrom(
  source: (count: number) => Uint8Array,
  record: Readonly<Record<string, Answer>>,
  plan: Plan,
  arm?: string | null,
): Promise<Uint8Array<ArrayBuffer>>;
