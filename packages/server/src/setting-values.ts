/** What the texts of settings mean. Each parser gives undefined for a text that is not valid. */
import { isIP } from 'node:net';

/** A whole number from `min` to `max`, in decimal digits only. */
export function wholeNumber(min: number, max: number): (text: string) => number | undefined {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  };
}

/** A port, 0–65535. */
export const parsePort = wholeNumber(0, 65_535);

/** A host name or an IP address. */
export function parseHost(text: string): string | undefined {
  const label = '[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
  const isName = text.length <= 253 && new RegExp(`^${label}(\\.${label})*$`).test(text);
  // Digits and dots only is meant as an IP address; a wrong one is not a host name.
  return isIP(text) !== 0 || (isName && !/^[\d.]+$/.test(text)) ? text : undefined;
}

/** A path of a file or folder. */
export function parsePath(text: string): string | undefined {
  return text.includes('\0') || text.trim() === '' ? undefined : text;
}

/** A URL of PostgreSQL. */
export function parseDatabaseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'postgres:' || url.protocol === 'postgresql:') ? text : undefined;
}

/** An http or https URL without user name, query, fragment, trailing slash, and what a shell would take for more. */
export function parsePublicUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  const isPlain = url.username === '' && url.password === '' && !/[\s?#'"\\]/.test(text) && !text.endsWith('/');
  return isPlain ? text : undefined;
}

/** An http or https URL without user name, query and fragment. */
export function parseOtlpUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  return url.username === '' && url.password === '' && !/[\s?#]/.test(text) ? text : undefined;
}

/** Which proxies are trusted: false for `off`, how many (1–10), or their addresses and ranges. */
export function parseTrustedProxies(text: string): false | number | readonly string[] | undefined {
  if (text === 'off') return false;
  if (/^([1-9]|10)$/.test(text)) return Number(text);
  const ranges = text.split(',').map((range) => range.trim());
  return ranges.every(isAddressRange) ? Object.freeze(ranges) : undefined;
}

/** An IP address, or a CIDR range of some: `10.0.0.0/8`. Not everybody (`/0`), which would trust what clients make up. */
function isAddressRange(text: string): boolean {
  const [address = '', prefix, more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more !== undefined) return false;
  return prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

/** Whether only this machine reaches the host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** What stands in sample settings. What is left of a secret without them has to be a secret still. */
const commonWords =
  /abcdefghijklmnopqrstuvwxyz|0123456789|1234567890|12345678|abcdef|qwerty|letmein|admin|change|please|replace|placeholder|default|example|sample|secret|password|passphrase|insert|random|string|signing|production|development|character|minimum|inlay|token|value|super|your|this|with|here|test|demo|long|must|least|key|jwt/g;

/** More than a rotation needs: the new one and those whose tokens may still be about. */
export const secretsMax = 10;

/** A list of strong secrets, none twice; undefined for anything else. */
export function parseSecrets(text: string): readonly string[] | undefined {
  const secrets = text
    .split(/[,\r\n]/)
    .map((secret) => secret.trim())
    .filter((secret) => secret !== '');
  const isValid = secrets.length >= 1 && secrets.length <= secretsMax && new Set(secrets).size === secrets.length;
  return isValid && secrets.every(isStrongSecret) ? secrets : undefined;
}

/** True for 32 to 1024 characters that are not one repeated, a short pattern repeated, or common words padded. */
export function isStrongSecret(text: string): boolean {
  if (text.length < 32 || text.length > 1024) return false;
  const left = text.toLowerCase().replace(commonWords, '');
  return left.length >= 16 && new Set(left).size >= 8 && !/^(.{1,16})\1+.{0,15}$/s.test(text);
}
