import { webcrypto } from 'node:crypto';

/** The certificate library, loaded when the first certificate is made, because it takes some MB of memory. */
export async function loadX509() {
  // The library needs this polyfill to be loaded before it.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto as never);
  return x509;
}
/** Keys as the library declares them; Node.js declares more uses of a key. */
export type CertificateKeys = Parameters<
  Awaited<ReturnType<typeof loadX509>>['X509CertificateGenerator']['createSelfSigned']
>[0]['keys'];
