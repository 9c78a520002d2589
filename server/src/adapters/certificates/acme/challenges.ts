/** Answers of this service to challenges that are under way. */
import { createHash } from 'node:crypto';
import tls from 'node:tls';
import type { SecureContext } from 'node:tls';
import { loadX509 } from '../../../core/x509.ts';
import { ALGORITHM, newKeys, pemOfKey } from '../local-authority.ts';
import type { ChallengeKind } from './client.ts';

const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31';
/** DER of an octet string of 32 bytes. */
const OCTETS = Buffer.from([0x04, 0x20]);
const HOUR_MS = 3_600_000;

/** The certificate that proves a name by TLS-ALPN-01 (RFC 8737). */
async function proof(name: string, keyAuthorization: string, now: number): Promise<SecureContext> {
  const x509 = await loadX509();
  const keys = await newKeys();
  const digest = createHash('sha256').update(keyAuthorization).digest();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: 'CN=acme',
    notBefore: new Date(now - HOUR_MS),
    notAfter: new Date(now + HOUR_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
      new x509.Extension(ACME_IDENTIFIER, true, Buffer.concat([OCTETS, digest])),
    ],
  });
  return tls.createSecureContext({ cert: certificate.toString('pem'), key: await pemOfKey(keys.privateKey) });
}

export class Challenges {
  readonly #http = new Map<string, string>();
  readonly #alpn = new Map<string, SecureContext>();

  /** Text for the token of a challenge HTTP-01; null for an unknown token. */
  readonly http = (token: string): string | null => this.#http.get(token) ?? null;
  /** Certificate for a validation by TLS-ALPN-01 of this name; null for none under way. */
  readonly alpn = (name: string): SecureContext | null => this.#alpn.get(name.toLowerCase()) ?? null;

  /** Answers until the returned function is called. `now` in milliseconds since 1970. */
  async answer(
    kind: ChallengeKind,
    {
      name,
      token,
      keyAuthorization,
      now,
    }: { name: string; token: string; keyAuthorization: string; now: number },
  ): Promise<() => void> {
    if (kind === 'http-01') {
      this.#http.set(token, keyAuthorization);
      return () => void this.#http.delete(token);
    }
    this.#alpn.set(name, await proof(name, keyAuthorization, now));
    return () => void this.#alpn.delete(name);
  }
}
