/** The timezone that a session or a data call names. */
import { InlayError } from '../errors.ts';

/**
 * Times are cut in UTC. Another timezone would give other numbers, so that it is refused and not passed over.
 * @param path where it stands in the body: `settings.timezone`
 * @throws InlayError FIELD_NOT_SUPPORTED
 */
export function requireUtc(timezone: string | undefined, path: string): void {
  if (timezone === undefined || /^(etc\/)?utc$/i.test(timezone)) return;
  const message = 'UTC is the only timezone of this version';
  throw new InlayError('FIELD_NOT_SUPPORTED', message, { issues: [{ path, message }] });
}
