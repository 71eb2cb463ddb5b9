/* The questions of an arm as a form, and its answers as a record for the client. */

import { element } from "./element.js";

const MOST_BUTTONS = 12; // A choice of more values is a list to choose from.

/** The questions that people read: a feature each, or all flags of a multi-select question together. */
function grouped(features) {
  const groups = new Map();
  for (const feature of features) {
    const key = feature.question === undefined ? `feature ${feature.name}` : `question ${feature.question}`;
    groups.set(key, [...(groups.get(key) ?? []), feature]);
  }
  return [...groups.values()];
}

/** What people read as the name of a flag within its multi-select question. */
export function partTitle({ name, question, label }) {
  const start = `${question}: `;
  return label ?? (name.startsWith(start) ? name.slice(start.length) : name);
}

/** What people read as a question. */
export function title(feature) {
  const { name, question, question_label: whole, label } = feature;
  return question === undefined ? (label ?? name) : `${whole ?? question}: ${partTitle(feature)}`;
}

/** What people read as an answer: true, false, null (skipped) or a value; ranges stand beside their labels. */
export function answerText(feature, answer, say) {
  if (answer === null) return feature.missing ?? say("skipped");
  if (typeof answer === "boolean") return say(answer ? "yes" : "no");
  const { labels = {}, edges, missing } = feature;
  if (!Object.hasOwn(labels, answer)) return answer;
  return edges && answer !== missing ? `${labels[answer]} (${answer})` : labels[answer];
}

/** A form of these questions; `done` gets the record when every question is answered that must be. */
export function form(features, say, done) {
  const parts = grouped(features).map((group, at) => part(group, `q${at}`, say));
  const submit = (event) => {
    event.preventDefault();
    const answers = parts.map(({ answer }) => answer());
    parts.forEach(({ mark }, at) => mark(answers[at] === null));
    const first = answers.indexOf(null);
    if (first >= 0) parts[first].focus();
    else done(Object.fromEntries(answers.flatMap(Object.entries))); // also of a question named __proto__
  };
  return element("form", { autocomplete: "off", novalidate: "", submit },
    ...parts.map(({ fieldset }) => fieldset),
    element("div", { class: "actions" }, element("button", { type: "submit" }, say("make"))));
}

/** One question: its fieldset, its answer as a part of the record (null if it must still be answered), its mark. */
function part(features, id, say) {
  const [first] = features;
  const isGroup = first.question !== undefined;
  const maySkip = features.every(({ missing }) => missing !== undefined);
  const { inputs, answer } = isGroup ? checkboxes(features, id, say) : oneOf(first, id, say);
  const hints = [
    ...new Set(features.map(({ help }) => help).filter(Boolean)),
    isGroup && say("several"),
    maySkip && say("may_skip"),
    first.public && say("is_public"),
  ].filter(Boolean);
  const wrong = element("p", { class: "wrong", id: `${id}-wrong`, hidden: "" }, say("unanswered"));
  const hint = element("div", { class: "hint", id: `${id}-hint`, dir: "auto" }, ...hints.map((text) => element("p", { class: "hint" }, text)));
  const whole = isGroup ? (first.question_label ?? first.question) : title(first);
  const role = isGroup ? "group" : "radiogroup";
  const fieldset = element("fieldset", { role, "aria-describedby": `${id}-wrong ${id}-hint`, ...(!isGroup && { "aria-required": `${!maySkip}` }) },
    element("legend", { dir: "auto" }, whole), hint, wrong, ...inputs);
  return {
    fieldset,
    answer: () => answer() ?? (maySkip ? {} : null),
    mark(isUnanswered) {
      wrong.hidden = !isUnanswered;
      fieldset.classList.toggle("unanswered", isUnanswered);
      if (!isGroup) fieldset.setAttribute("aria-invalid", `${isUnanswered}`);
    },
    focus: () => fieldset.querySelector("input, select").focus(),
  };
}

function option(type, name, value, text) {
  const input = element("input", { type, name, value });
  return { input, label: element("label", { class: "option" }, input, element("span", { dir: "auto" }, text)) };
}

/** A flag or a choice: exactly one of its answers; skipping is one of them where the plan says so. */
function oneOf(feature, id, say) {
  const { name, values, missing } = feature;
  const answers = values ?? [true, false, ...(missing === undefined ? [] : [null])];
  const texts = answers.map((answer) => answerText(feature, answer, say));
  const given = (at) => (answers[at] === null ? {} : { [name]: answers[at] });
  if (answers.length > MOST_BUTTONS) {
    const options = [say("choose"), ...texts].map((text, at) => element("option", { value: at ? at - 1 : "" }, text));
    const select = element("select", { name: id, "aria-label": title(feature) }, ...options);
    return { inputs: [select], answer: () => (select.value === "" ? null : given(Number(select.value))) };
  }
  const options = texts.map((text, at) => option("radio", id, at, text));
  const chosen = () => options.findIndex(({ input }) => input.checked);
  return { inputs: options.map(({ label }) => label), answer: () => (chosen() < 0 ? null : given(chosen())) };
}

/** A multi-select question: any of its flags, or none of them, or no answer; these last two exclude all others. */
function checkboxes(features, id, say) {
  const flags = features.map((feature, at) => option("checkbox", id, at, partTitle(feature)));
  const none = option("checkbox", id, "none", say("none"));
  const { missing } = features[0];
  const skip = missing === undefined ? null : option("checkbox", id, "skip", say("no_answer", { missing }));
  const alone = [none, skip].filter(Boolean);
  const all = [...flags, ...alone];
  for (const one of all) {
    one.input.addEventListener("change", () => {
      if (!one.input.checked) return;
      for (const other of alone.includes(one) ? all : alone) other.input.checked = other === one;
    });
  }
  const answer = () => {
    if (!all.some(({ input }) => input.checked)) return null;
    if (skip?.input.checked) return {};
    return Object.fromEntries(features.map(({ name }, at) => [name, flags[at].input.checked]));
  };
  return { inputs: all.map(({ label }) => label), answer };
}
