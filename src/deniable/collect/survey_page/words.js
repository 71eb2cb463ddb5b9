/* The page's own words, from the file of a language. */

/** The languages that there are files of, each by its own name. */
export const LANGUAGES = { en: "English", de: "Deutsch" };

/** The language to begin with: what the address asks for, or what the browser prefers. */
export function firstLanguage() {
  const asked = [new URLSearchParams(location.search).get("lang"), ...navigator.languages];
  return asked.map((tag) => tag?.slice(0, 2).toLowerCase()).find((tag) => Object.hasOwn(LANGUAGES, tag)) ?? "en";
}

/** The words of a language: `say` fills in a sentence, `promised` translates what the client promises. */
export async function wordsOf(language) {
  const answer = await fetch(`lang/${language}.json`);
  if (!answer.ok) throw new Error(`${answer.status}`);
  const { promises, ...words } = await answer.json();
  return { say: (key, values = {}) => filled(words[key], values), promised: (line) => translated(line, promises) };
}

function filled(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** A line of the client's promise by the first sentence that it fits; a line that fits none stays in English. */
export function translated(line, promises) {
  for (const [sentence, other] of Object.entries(promises)) {
    const pattern = sentence.replace(/[.()]/g, "\\$&").replace(/\{(\w+)\}/g, "(?<$1>.+)");
    const found = line.match(new RegExp(`^${pattern}$`, "su"));
    if (found) return filled(other, found.groups);
  }
  return line;
}
