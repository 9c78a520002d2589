/**
 * Whether the domain of a trunk vouches for a server that its SRV records name (RFC 5922). The engine checks a server by its own
 * name, and whoever forges an answer of DNS chooses that name: outside the domain, the certificate must have both.
 */
import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import tls from 'node:tls';
import { messageOf } from '../../core/errors.ts';
import type { ProveServer } from '../../ports/trunk-servers.ts';

const PATIENCE_MS = 5_000;
/** Errors of a handshake that are about the certificate; others are about the way to the server. */
const ABOUT_CERTIFICATE = /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT)/;

/** SIP knows no wildcards in names of certificates. */
const isFor = (certificate: X509Certificate, host: string): boolean =>
  certificate.checkHost(host, { wildcards: false }) !== undefined ||
  (certificate.subjectAltName ?? '').toLowerCase().split(', ').includes(`uri:sip:${host.toLowerCase()}`);
const namesOf = ({ subjectAltName, subject }: X509Certificate): string =>
  (subjectAltName ?? subject).replaceAll(/\b(?:DNS|URI|IP Address):/g, '').replaceAll('\n', ', ');
const isWithin = (host: string, domain: string): boolean =>
  `.${host.toLowerCase()}`.endsWith(`.${domain.toLowerCase()}`);

/** `trusted` is the file of the authorities that the engine trusts; null for those of Node.js. */
export const proveServer =
  (trusted: string | null): ProveServer =>
  async (domain, { host, port, addresses }, signal) => {
    const within = isWithin(host, domain);
    const wrong = (what: string) => ({ vouched: within, fault: `${host}:${port}: its certificate ${what}` });
    const ca = trusted === null ? undefined : await readFile(trusted, 'utf8');
    const socket = tls.connect({
      host: addresses[0] ?? host,
      port,
      servername: host,
      ...(ca === undefined ? {} : { ca }),
      minVersion: 'TLSv1.2',
      // Checked below, by the rules of SIP.
      checkServerIdentity: () => undefined,
    });
    try {
      await once(socket, 'secureConnect', {
        signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
      });
      const certificate = socket.getPeerX509Certificate();
      if (certificate === undefined) return wrong('is missing');
      const missing = [host, ...(within ? [] : [domain])].filter((name) => !isFor(certificate, name));
      return missing.length === 0
        ? { vouched: true, fault: null }
        : wrong(`is for ${namesOf(certificate)}, not for ${missing.join(' and ')}`);
    } catch (error) {
      signal.throwIfAborted();
      if (ABOUT_CERTIFICATE.test((error as NodeJS.ErrnoException).code ?? ''))
        return wrong(`is not accepted: ${messageOf(error)}`);
      return within
        ? { vouched: true, fault: null }
        : { vouched: null, fault: `${host}:${port}: not reached, so its certificate is not known` };
    } finally {
      socket.destroy();
    }
  };
