/** SIP over TLS is proven by a handshake with the living engine: its list shows a transport whose certificate it refused. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import tls from 'node:tls';
import { messageOf } from '../../../core/errors.ts';
import { bracketed } from '../../../core/networks.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { EngineProblem } from '../../../ports/engine-config.ts';
import { lastOf, readSections } from './sections.ts';

/** A transport of our configuration that uses TLS. */
export interface SecuredTransport {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Path of its certificate. */
  readonly certificate: string;
  /** Address it shows outside; null for its own. */
  readonly external: string | null;
}
const FILE = 'pjsip.conf';
const BIND = /^\[?([^\]]+?)\]?:(\d+)$/;
/** A listener on every address is asked on loopback. */
const NEAR: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
/** The engine opens a transport shortly after it answered to a reload. */
const PATIENCE_MS = 10_000;
const EVERY_MS = 200;

/** The TLS transports in the text of the engine's SIP file. */
export function securedTransports(text: string): readonly SecuredTransport[] {
  return readSections(FILE, new Map([[FILE, text]])).sections.flatMap((s) => {
    const [, host, port] = BIND.exec(lastOf(s, 'bind') ?? '') ?? [];
    if (!s.name.startsWith('transport-tls-') || host === undefined) return [];
    const certificate = lastOf(s, 'cert_file') ?? '';
    return [
      {
        name: s.name,
        host,
        port: Number(port),
        certificate,
        external: lastOf(s, 'external_signaling_address'),
      },
    ];
  });
}
/** Names and addresses by which phones may call for them. */
export const hostsOf = (transports: readonly SecuredTransport[]): readonly string[] => {
  const shown = transports.flatMap(({ host, external }) => [...(external === null ? [] : [external]), host]);
  return [...new Set([...shown.filter((host) => !(host in NEAR)), os.hostname(), 'localhost', '127.0.0.1'])];
};

function shownCertificate(host: string, port: number, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Whatever it shows is compared with the file: nothing is sent, so it need not be trusted.
    const socket = tls.connect({ host, port, rejectUnauthorized: false }, () => {
      const { raw } = socket.getPeerCertificate();
      socket.destroy();
      resolve(raw);
    });
    const abort = (): void => void socket.destroy(signal.reason as Error);
    socket.once('error', reject);
    signal.addEventListener('abort', abort, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', abort));
  });
}

/** Null once the transport answers a handshake with the certificate of its file. */
export async function handshakeProblem(
  { name, host, port, certificate }: SecuredTransport,
  clock: Clock,
  signal: AbortSignal = new AbortController().signal,
): Promise<EngineProblem | null> {
  const wanted = new X509Certificate(await readFile(certificate)).raw;
  const late = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  let words = 'it did not answer';
  while (!late.aborted) {
    try {
      const shown = await shownCertificate(NEAR[host] ?? host, port, late);
      if (shown.equals(wanted)) return null;
      words = 'it shows another certificate than the one that was installed';
    } catch (error) {
      if (!late.aborted) words = messageOf(error);
    }
    await clock.sleep(EVERY_MS, late).catch(() => undefined);
  }
  signal.throwIfAborted();
  const at = `${bracketed(host)}:${port}`;
  return { object: `transport ${name}`, file: FILE, words: `no TLS handshake at ${at}: ${words}` };
}
