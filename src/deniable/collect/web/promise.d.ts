import { Plan } from "./deniable.js";

/** Say to a respondent, in plain words, the most that can be learned from a report, and what is not protected. */
export function promise(plan: Plan): Promise<string>;
