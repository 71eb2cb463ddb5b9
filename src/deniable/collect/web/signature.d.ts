/** A plan that is not signed by the key, or a signature or key that cannot be read. */
export class SignatureError extends Error {}

/**
 * Refuse a plan that is not signed by a pinned key: its fingerprint, as `read` of deniable.js gives it, the text of its
 * `plan.sig`, and the key's 64 hexadecimal digits. Throws where the browser has no Ed25519.
 */
export function verify(fingerprint: string, signature: string, key: string): Promise<void>;
