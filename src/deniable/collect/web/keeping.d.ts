import { Answer, CheckedPlan, DeniableError, Options, Plan } from "./deniable.js";

/** What is stored is damaged or foreign, or a report would spend more than the ceiling. */
export class KeepingError extends DeniableError {}

/** What to send of kept bytes: the same, or with a fresh coin over each answer. Bytes of another plan are refused. */
export function again(kept: Uint8Array, plan: Plan): Promise<Uint8Array<ArrayBuffer>>;

/** `again` with its randomness as an argument: for tests, never for real answers. */
export function againFrom(
  source: (count: number) => Uint8Array,
  kept: Uint8Array,
  plan: Plan,
): Promise<Uint8Array<ArrayBuffer>>;

/** Make a report of a plan whose answers are kept, from a secret of this device, with nothing stored. */
export function report(
  record: Readonly<Record<string, Answer>>,
  plan: Plan,
  options: Options & { secret: Uint8Array },
): Promise<Uint8Array<ArrayBuffer>>;

/** The kept bytes that follow from a secret, for `again`. They must not be sent themselves. */
export function derived(
  secret: Uint8Array,
  record: Readonly<Record<string, Answer>>,
  plan: Plan,
  arm?: string | null,
): Promise<Uint8Array<ArrayBuffer>>;

/** The arm that follows from a secret: its name, for `questions` and then for `report`. */
export function derivedArm(secret: Uint8Array, plan: Plan): Promise<string>;

/** What is stored: kept answers in hexadecimal, and how often each plan's epsilon was spent, by fingerprints. */
export interface Content {
  readonly deniable: 1;
  readonly kept: Readonly<Record<string, { arm: string; report: string | null }>>;
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
  /** Make a report as `report` of deniable.js does, of what was kept if the plan says so, and within the ceiling. */
  report(
    record: Readonly<Record<string, Answer>>,
    plan: Plan,
    options?: Options,
  ): Promise<Uint8Array<ArrayBuffer>>;
}
