// Runs cases through the browser's client, in node or in a browser, and gives what each came to, as JSON can say it.

const hexOf = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** A source that gives out the bytes of a text in hexadecimal once, in order; asking for more is an error. */
function scripted(hex) {
  const bytes = bytesOf(hex);
  let at = 0;
  const source = (count) => {
    if (at + count > bytes.length) throw new RangeError("more draws were asked for than the format says");
    return bytes.subarray(at, (at += count));
  };
  source.left = () => bytes.length - at;
  return source;
}

async function outcome(client, promise, { plan, record, draws, arm, options, secret }) {
  if (secret) {
    const source = scripted(draws);
    const kept = await client.derived(bytesOf(secret), record, plan, arm);
    return [hexOf(kept), hexOf(await client.again(kept, plan, source)), source.left()];
  }
  if (options) return (await client.report(record, plan, options)).length;
  if (draws !== undefined) {
    const source = scripted(draws);
    const sent = await client.reportFrom(source, record, plan, arm);
    return [hexOf(sent), source.left()];
  }
  const checked = await client.read(plan);
  const asked = await Promise.all(checked.names.map((name) => client.questions(checked, name)));
  const { fingerprint, epsilon, names, assigned, length } = checked;
  return { fingerprint, epsilon, names, assigned, length, public: checked.public, asked, promise: await promise(plan) };
}

export async function runCases(client, promise, cases) {
  const found = [];
  for (const one of cases) {
    try {
      found.push(await outcome(client, promise, one));
    } catch (error) {
      found.push(error instanceof client.DeniableError ? error.name : `${error.name}: ${error.message}`);
    }
  }
  return found;
}
