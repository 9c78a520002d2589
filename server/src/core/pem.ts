import { X509Certificate } from 'node:crypto';

const END = '-----END CERTIFICATE-----';
/** Certificates of a PEM file, in its order; text between them is left out. Throws where one is damaged. */
export const certificatesOf = (pem: string): X509Certificate[] =>
  pem
    .split(END)
    .slice(0, -1)
    .map((part) => new X509Certificate(part.slice(Math.max(0, part.indexOf('-----BEGIN'))) + END));
