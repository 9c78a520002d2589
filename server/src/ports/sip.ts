/** Registration data of a session's device, for the relay. */
export interface SipGrant {
  readonly session_id: number;
  /** The device's own secret at the engine; never leaves the service. */
  readonly secret: string;
}
export interface SipCredentials {
  /**
   * The live session of the device's person whose SIP password `matches` accepts; it counts as used. Null without one. Throws
   * `store_unavailable`.
   */
  prove(device: string, matches: (password: string) => boolean): SipGrant | null | Promise<SipGrant | null>;
  /** Milliseconds since 1970 when the session of a grant expires unless it is used; null once it has ended. */
  endsAt(sessionId: number): number | null;
  /** Called with each session that ended; returns the unsubscribe function. */
  onSessionEnded(listener: (sessionId: number) => void): () => void;
}
/** Calls of phones whose SIP the relay forwards. */
export interface SipCalls {
  /** False where the device is known to be in no call. */
  mayTalk(device: string): boolean;
  /**
   * Ends the calls of these devices that began over a connection from one of these local ports to the engine. Throws
   * `engine_unavailable`, `engine_timeout`.
   */
  endOver(devices: ReadonlySet<string>, ports: ReadonlySet<number>): Promise<void>;
}
