/** Looks for secrets in texts, as they are and as an encoding would show them. */

/** The forms in which a secret may stand in a text: itself, in a URL, in JSON, in base64 of each alignment, in hexadecimal. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const inBase64 = [0, 1, 2].flatMap((offset) => {
    // Only what does not depend on the neighbours: the first and the last group may mix with them.
    const aligned = Buffer.concat([Buffer.alloc(offset), bytes]);
    const skip = offset === 0 ? 0 : 4;
    return (['base64', 'base64url'] as const).map((encoding) => {
      const whole = Math.floor(aligned.length / 3) * 3;
      return aligned.subarray(0, whole).toString(encoding).slice(skip);
    });
  });
  return [
    ...new Set([
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      bytes.toString('hex'),
      ...inBase64,
    ]),
  ];
}

const forms = new Map<string, readonly string[]>();

/**
 * The secrets that stand in a text in any of the forms; each is shown by its first characters only.
 * @throws Error when a secret is so short that it would be found by chance.
 */
export function secretsIn(text: string, secrets: Iterable<string>): readonly string[] {
  const found: string[] = [];
  for (const secret of secrets) {
    if (secret.length < 16) throw new Error('too short to be searched for');
    let all = forms.get(secret);
    if (all === undefined) {
      all = formsOf(secret);
      forms.set(secret, all);
    }
    if (all.some((form) => text.includes(form))) found.push(`${secret.slice(0, 6)}…`);
  }
  return found;
}
