/** What a device of a session registers with, as the relay needs it. */
export interface SipGrant {
  readonly session_id: number;
  /** The device's own secret at the engine; it never leaves the service. */
  readonly secret: string;
}
export interface SipCredentials {
  /**
   * The live session of the person this device belongs to whose SIP password `matches` accepts; it counts as used. Null
   * where there is none. Throws `store_unavailable`.
   */
  prove(device: string, matches: (password: string) => boolean): SipGrant | null | Promise<SipGrant | null>;
  /** Milliseconds since 1970 when the session of a grant ends unless it is used again; null once it has ended. */
  endsAt(sessionId: number): number | null;
  /** Called with each session that ended; returns the way to stop. */
  onSessionEnded(listener: (sessionId: number) => void): () => void;
}
