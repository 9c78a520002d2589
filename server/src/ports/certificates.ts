/** The TLS certificate of this service, which every program that ends TLS reads from the same files. */
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
  /** The certificate and those between it and its authority. */
  readonly certificate: string;
  readonly key: string;
  /** Authorities that trunks are checked against. */
  readonly trusted: string;
}
export interface CertificateState {
  /** What is in use; null before anything needed a certificate. */
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
