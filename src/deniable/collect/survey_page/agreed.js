/* What a link says was agreed to beforehand: epsilon=..., the most that a report may give away, and key=..., the public
   key that must have signed the plan. Whatever cannot be read is refused: a link that was cut protects no less. */

import { verify } from "./signature.js";

const MOST = 8; // The largest epsilon that is taken if the link says nothing of it, as in all clients.

/** The largest epsilon that the link allows, NaN if it cannot be read. */
export function ceiling(link) {
  const text = link.get("epsilon");
  return text === null ? MOST : /^\d+(\.\d+)?$/.test(text) && Number(text) > 0 ? Number(text) : NaN;
}

/** An epsilon above the most that was agreed to, in as many digits as show that it is above. */
function inDigits(epsilon, most) {
  const digits = [2, 4, 6, 8].find((one) => Number(epsilon.toFixed(one)) > most);
  return digits ? epsilon.toFixed(digits) : String(epsilon);
}

/** Why a plan is not what the link says was agreed to, as a word of the page and its values; null if it is. */
export async function notAgreed(plan, link) {
  const most = ceiling(link);
  if (Number.isNaN(most)) return ["failed_link"];
  if (plan.epsilon > most) return ["failed_epsilon", { found: inDigits(plan.epsilon, most), most }];
  const key = link.get("key");
  if (key === null) return null;
  const answer = await fetch(`plans/${plan.fingerprint}.sig`).catch(() => null);
  if (!answer || answer.status >= 500) return ["failed_load"];
  try {
    await verify(plan.fingerprint, answer.ok ? await answer.text() : "", key);
  } catch (error) {
    return ["failed_signature", { reason: error.message }];
  }
  return null;
}
