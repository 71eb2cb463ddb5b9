/* Signed plans: whether a plan is signed by a key that was pinned, by WebCrypto's Ed25519.

   What is signed is the plan's fingerprint with words before it; spec/signed-plans.md has the format. Take the
   fingerprint from what `read` of deniable.js gave, which has checked that it follows from the plan's content. Where a
   browser has no Ed25519 (those before Chromium 137, Firefox 129 and Safari 17), this throws. */

const HEADING = "deniable signed plan 1 "; // This stands before the fingerprint in what is signed.

/** A plan that is not signed by the key, or a signature or key that cannot be read. */
export class SignatureError extends Error {
  name = "SignatureError";
}

/** Refuse a plan that is not signed by a key: the text of its plan.sig, and the key's 64 hexadecimal digits. */
export async function verify(fingerprint, signature, key) {
  need(isHex(fingerprint, 64), "a fingerprint is 64 hexadecimal digits");
  need(isHex(key, 64), "a key is 64 hexadecimal digits");
  let found;
  try {
    found = JSON.parse(signature);
  } catch {
    found = null;
  }
  const keys = Object.keys(found ?? {}).sort().join();
  const right = keys === "key,signature" && isHex(found.key, 64) && isHex(found.signature, 128);
  need(right, "a signature is JSON with key and signature, 64 and 128 hexadecimal digits");
  const { subtle } = globalThis.crypto ?? {};
  need(subtle, "no WebCrypto here; serve the page by https, or from localhost");
  const message = new TextEncoder().encode(HEADING + fingerprint);
  let signed = false;
  try {
    const pinned = await subtle.importKey("raw", bytesOf(key), "Ed25519", false, ["verify"]);
    signed = await subtle.verify("Ed25519", pinned, bytesOf(found.signature), message);
  } catch (error) {
    need(error.name !== "NotSupportedError", "this browser cannot check signatures (Ed25519)");
  }
  need(signed, `the plan is not signed by the key ${key}`);
}

function need(right, what) {
  if (!right) throw new SignatureError(what);
}

const isHex = (text, digits) => typeof text === "string" && text.length === digits && /^[0-9a-f]+$/.test(text);
const bytesOf = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
