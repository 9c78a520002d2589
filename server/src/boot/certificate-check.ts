import type { CertificateState } from '../ports/certificates.ts';
import type { Clock } from '../ports/clock.ts';
import type { Check } from '../http/health.ts';

/** Days before the end of the certificate from which its check fails: a renewal should have come. */
const CERTIFICATE_DAYS = 20;
const oneLine = (name: string): string => name.replaceAll('\n', ', ');

export const certificateCheck = (state: () => CertificateState, clock: Clock): Check => ({
  name: 'certificate',
  needed: false,
  run: async () => {
    const { used, fault } = state();
    if (used === null && fault === null) return { ok: true, detail: 'none is used' };
    const days = used === null ? 0 : Math.floor((used.valid_to - clock.now()) / 86_400_000);
    const now = used === null ? 'none is used' : `${days} days left, issued by ${oneLine(used.issuer)}`;
    const detail = fault === null ? now : `${fault.code}: ${fault.detail}; in use: ${now}`;
    return { ok: fault === null && days >= CERTIFICATE_DAYS, detail };
  },
});
