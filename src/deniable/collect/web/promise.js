/* What a plan promises to a respondent, in plain words: the browser's twin of `promise` in deniable's client.py. */

import { ratio, read } from "./deniable.min.js";

const SCALE = 65536; // A coin of this many 65 536ths changes nothing.
const LITTLE = 171n; // From an e^epsilon above this, a belief of 1 in 10 can become more than 95 in 100.

/** Say to a respondent, in plain words, the most that can be learned from a report, and what is not protected. */
export async function promise(plan) {
  const { arms, assigned, kept } = await read(plan);
  const whole = ratio(arms, SCALE);
  const once = kept && kept < SCALE && ratio(arms, kept); // of one report alone, under its fresh coin
  const worst = new Map(); // by answer, the most that is learned of it from any block
  for (const block of arms.flat()) {
    const learned = hundredths(ratio([[block]], SCALE));
    for (const name of block.public ? [] : block.features.map(quoted)) {
      if (!(worst.get(name) > learned)) worst.set(name, learned);
    }
  }
  const alone = new Map();
  for (const [name, least] of worst) alone.set(least, [...(alone.get(least) ?? []), name]);
  const who = assigned
    ? "Whoever invited you chose which, and must have done so by chance. They may know which report is yours, if few people are asked the same set."
    : "This device draws it before any answer, so it says nothing of you.";
  const open = arms[0].filter((block) => block.public).map(({ features: [only] }) => quoted(only)).join(", ");
  const lines = [
    "Chance may change your answers on this device, before anything is sent.",
    arms[1] && `You are asked one of ${arms.length} sets of questions. ${who}`,
    `${once ? "All your reports together" : "Your whole report"} can raise what somebody suspects ${raised(hundredths(whole))}.`,
    once && `One report alone: ${raised(hundredths(once))}.`,
    ...[...alone].map(
      ([least, names]) => `One answer, if all others are known: ${raised(least)} (${names.join(", ")}).`,
    ),
    whole[0] > LITTLE * whole[1] &&
      "All in all this protects little: whoever sees your report can become nearly sure.",
    kept
      ? "Asked again, this device sends what it kept of your first answers, even if yours change, and so nothing more."
      : "This holds for one report. Another one about the same answers gives away as much again.",
    open && "All of this comes on top of what is sent unprotected.",
  ];
  const last = open && `Not protected at all, but sent as it is: ${open}.`;
  return [...(alone.size ? lines : ["Nothing is protected here."]), last].filter(Boolean).join("\n");
}

/** What people read as a question: its label, or else its name; of a multi-select question, both parts. */
function titleOf({ name, question, label, question_label: whole }) {
  if (!question) return label ?? name;
  const start = `${question}: `;
  return `${whole ?? question}: ${label ?? (name.startsWith(start) ? name.slice(start.length) : name)}`;
}

/** A question in quotes, with another name beside it: no label can pass for words of the promise. */
function quoted(feature) {
  const [said, name] = [titleOf(feature), feature.name].map((text) => text.replaceAll('"', "'"));
  return said === name ? `"${said}"` : `"${said}" ("${name}")`;
}

/** By Bayes' theorem a belief of 1 in 10 becomes at most r / (r + 9), rounded up to hundredths. */
function hundredths([a, b]) {
  const whole = a + 9n * b;
  return (100n * a + whole - 1n) / whole;
}

const raised = (least) => `from 1 in 10 to at most ${least} in 100`;
