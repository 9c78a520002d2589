/** The TLS certificate of this service, which every program that ends TLS reads from the same files. */
import type { SecureContext } from 'node:tls';

export type CertificateFaultCode =
  | 'certificate_unreadable'
  | 'certificate_key_mismatch'
  | 'certificate_expired'
  | 'certificate_not_yet_valid';
/** Why given files are not used; `code` is stable. */
export interface CertificateFault {
  readonly code: CertificateFaultCode;
  readonly detail: string;
}
/** Paths of PEM files. */
export interface CertificateFiles {
  /** The certificate and the intermediate certificates up to its authority. */
  readonly certificate: string;
  readonly key: string;
  /** Authorities that trunks are checked against. */
  readonly trusted: string;
}
export interface CertificateState {
  /** Certificate in use; null before one was needed. */
  readonly used: {
    readonly subject: string;
    readonly issuer: string;
    /** Milliseconds since 1970. */
    readonly valid_to: number;
  } | null;
  /** Why the files given last are not used; null where they are. */
  readonly fault: CertificateFault | null;
}
export interface Certificates {
  readonly files: CertificateFiles;
  /**
   * Makes the files exist; one of the own authority is for the `hosts` of every program. Throws `ServiceError` `invalid_configuration`
   * where no valid certificate can be had.
   */
  ensure(hosts: readonly string[], program?: 'sip' | 'http' | 'ldap'): Promise<void>;
  /** Calls `listener` after other files were installed; returns the function that ends it. */
  onInstalled(listener: () => Promise<void>): () => void;
  state(): CertificateState;
}

/** Outcome of an order at a certificate authority; times in milliseconds since 1970. */
export type RenewalChange =
  | { readonly renewed: true; readonly names: readonly string[]; readonly valid_to: number }
  | {
      readonly renewed: false;
      readonly names: readonly string[];
      readonly detail: string;
      readonly next_try_at: number;
    };
export interface RenewalState {
  /** When the certificate is ordered anew; null before the first one. Milliseconds since 1970. */
  readonly due_at: number | null;
  /** The last order, where it failed. */
  readonly failed: { readonly detail: string; readonly next_try_at: number } | null;
}
/** An ordered certificate with its key, and the inputs of the order. */
export interface Ordered {
  readonly certificate: string;
  readonly key: string;
  readonly order: string;
}
/** Certificates of an authority that checks the names by itself (ACME). */
export interface Renewal {
  /** Answers to its checks that are under way; null for none. */
  readonly challenges: {
    readonly http: (token: string) => string | null;
    readonly alpn: (name: string) => SecureContext | null;
  };
  state(): RenewalState;
  /** Orders when it is due, until the signal; the listeners that answer the checks must be up. */
  run(changed: (change: RenewalChange) => void, signal: AbortSignal): Promise<void>;
  /** The certificate of the last order; null before the first one. */
  ordered(): Promise<Ordered | null>;
  /** Keeps what another node of the site ordered; false if it has a fault, or if this node would order something else. */
  keep(ordered: Ordered): Promise<boolean>;
}
