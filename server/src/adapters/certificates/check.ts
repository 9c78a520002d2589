/** Whether a certificate and a key can be used together now. */
import { createPrivateKey } from 'node:crypto';
import type { X509Certificate } from 'node:crypto';
import type { CertificateFault, CertificateFaultCode } from '../../ports/certificates.ts';
import { rfc3339 } from '../../core/clock.ts';
import { certificatesOf } from '../../core/pem.ts';

const fault = (code: CertificateFaultCode, detail: string): CertificateFault => ({ code, detail });

/** Null where the pair can be used. `now` in milliseconds since 1970. */
export function faultOf(certificate: string, key: string, now: number): CertificateFault | null {
  let first: X509Certificate | undefined;
  try {
    first = certificatesOf(certificate)[0];
  } catch {
    first = undefined;
  }
  if (first === undefined)
    return fault('certificate_unreadable', 'the certificate file has no certificate in PEM');
  let matches: boolean;
  try {
    matches = first.checkPrivateKey(createPrivateKey(key));
  } catch {
    return fault('certificate_unreadable', 'the key file has no private key in PEM without a password');
  }
  if (!matches)
    return fault(
      'certificate_key_mismatch',
      'the key is not the one of the certificate; give both of one pair',
    );
  if (first.validToDate.getTime() <= now)
    return fault(
      'certificate_expired',
      `the certificate ended at ${rfc3339(first.validToDate.getTime())}; renew it`,
    );
  if (first.validFromDate.getTime() > now)
    return fault(
      'certificate_not_yet_valid',
      `the certificate begins at ${rfc3339(first.validFromDate.getTime())}; look at the clock of this machine`,
    );
  return null;
}
