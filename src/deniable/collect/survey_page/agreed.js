/* What a link says was agreed to beforehand: epsilon=..., the most that a report may give away; key=..., the public key
   that must have signed the plan; and public=..., the columns that may be sent as they are. Whatever cannot be read is
   refused, and so is a name that the page does not know: a link that was cut or mistyped protects no less. */

import { verify } from "./signature.js";

const MOST = 8; // The largest epsilon that is taken if the link says nothing of it, as in all clients.
const NAMES = ["invitation", "plan", "epsilon", "key", "public", "arm", "wave"]; // A link has these after #, each once.
const PINS = ["plan", "epsilon", "key", "public"]; // With any of these the link says what may be sent as it is.
const SWALLOWED = new RegExp(`(^|[^a-z_])(${NAMES.join("|")})(=|%)`, "i"); // One part of a link stands within another.
const LONGEST = 60; // So many letters of what cannot be read are shown.

/** Why an address cannot be read as a link of this page, as a word of the page and its values; null if it can. */
export function unreadable({ hash, search }) {
  const parts = [...new URLSearchParams(hash.slice(1))];
  const names = parts.map(([name]) => name);
  const wrong = parts.find(([name, value], at) => !NAMES.includes(name) || names.indexOf(name) < at || isDamaged(name, value));
  if (wrong) return ["failed_link", { part: shown(wrong) }];
  const misplaced = [...new URLSearchParams(search)].find((part) => SWALLOWED.test(part.join("=")));
  return misplaced ? ["failed_query", { part: shown(misplaced) }] : null;
}

/** Whether a part of the link lost its value, or has swallowed the part after it. */
function isDamaged(name, value) {
  const isEmpty = !value && name !== "public"; // which may list nothing
  return isEmpty || SWALLOWED.test(value) || value.includes("\ufffd") || (name === "invitation" && !/^[\w-]+$/.test(value));
}

const shown = ([name, value]) => (value ? `${name}=${value}` : name).slice(0, LONGEST);

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

/** The public columns that a link with any pin does not list; their names may have commas. */
function unlisted(plan, link) {
  const listed = `,${link.get("public") ?? ""},`;
  return PINS.some((name) => link.has(name)) ? plan.public.filter((name) => !listed.includes(`,${name},`)) : [];
}

/** Why a plan is not what the link says was agreed to, as a word of the page and its values; null if it is. */
export async function notAgreed(plan, link) {
  const most = ceiling(link);
  if (Number.isNaN(most)) return ["failed_link", { part: shown(["epsilon", link.get("epsilon")]) }];
  if (plan.epsilon > most) return ["failed_epsilon", { found: inDigits(plan.epsilon, most), most }];
  const open = unlisted(plan, link);
  if (open.length) return ["failed_public", { names: open.map((name) => JSON.stringify(name)).join(", ") }];
  if (link.has("wave") && !plan.kept) return ["failed_wave"];
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
