/** Requests of a SIP session, as promises. They reject with the status of the response as the message. */
import { Core, Inviter, RequestPendingError, SessionState } from 'sip.js';
import type { Session, URI, Web } from 'sip.js';

/**
 * Waits for work of a session, at most until the session ends: SIP.js then closes the connection of the session, and a browser
 * never settles the promises of a closed connection.
 */
export async function untilEnded(session: Session, work: Promise<unknown>): Promise<void> {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const onState = (state: SessionState): void => {
    // SIP.js ends a session whose work fails before it rejects with the error, which must come first.
    if (state === SessionState.Terminated) setTimeout(resolve);
  };
  session.stateChange.addListener(onState);
  onState(session.state);
  try {
    await Promise.race([work, ended]);
  } finally {
    session.stateChange.removeListener(onState);
  }
}

/** Limit of repetitions of a re-INVITE that met one of the exchange. */
const GLARES = 3;
/** Milliseconds before such a repetition (RFC 3261, 14.1): later where this side began the call, so that only one side waits long. */
const glareMs = (session: Session): number =>
  session instanceof Inviter ? 2_100 + Math.random() * 1_900 : Math.random() * 2_000;
/**
 * Sends a re-INVITE; resolves also where the call ends meanwhile, rejects with `unanswered` where no response came. One that met a
 * re-INVITE of the exchange (491) is repeated.
 */
export async function reinvite(
  session: Session,
  options: Web.SessionDescriptionHandlerOptions,
): Promise<void> {
  for (let met = 0; session.state === SessionState.Established; met += 1) {
    try {
      return await untilEnded(session, sendReinvite(session, options));
    } catch (error) {
      if ((error as Error).message !== '491' || met === GLARES) throw error;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve, glareMs(session));
    await untilEnded(session, promise);
  }
}
function sendReinvite(session: Session, options: Web.SessionDescriptionHandlerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    session
      .invite({
        sessionDescriptionHandlerOptions: options,
        requestDelegate: {
          onAccept: () => resolve(),
          // SIP.js invents a 408 where no response came; only a response of the exchange has a Via.
          onReject: ({ message }) =>
            reject(new Error(message.hasHeader('via') ? `${message.statusCode ?? 0}` : 'unanswered')),
        },
      })
      .catch(async (error: unknown) => {
        // SIP.js drops a refused offer by itself, but not one that it could not send. The offer of another request stays.
        if (!(error instanceof RequestPendingError))
          await session.sessionDescriptionHandler?.rollbackDescription?.().catch(() => undefined);
        reject(error as Error);
      });
  });
}

/**
 * Repeats the ACK of a call that this side began. Where the connection broke at the answer, the exchange has not received it: it
 * refuses each re-INVITE until then, and ends the call 32 s after the answer. While a re-INVITE waits for its response, SIP.js
 * would send the ACK of that one instead, and none after its response.
 */
export function repeatAck(session: Session): void {
  const { dialog } = session;
  if (!(session instanceof Inviter && dialog instanceof Core.SessionDialog)) return;
  if (dialog.reinviteUserAgentClient === undefined) dialog.ack();
}

/** Sends a REFER; resolves when the exchange reports success or ends the session, whichever comes first. */
export function refer(session: Session, target: URI | Session): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  session
    .refer(target, {
      requestDelegate: { onReject: ({ message }) => reject(new Error(`${message.statusCode ?? 0}`)) },
      onNotify: (notification) => {
        void notification.accept();
        const status = Number(/^SIP\/2\.0 (\d{3})/.exec(notification.request.body)?.[1] ?? 0);
        if (status >= 300) reject(new Error(`${status}`));
        else if (status >= 200) resolve();
      },
    })
    .catch(reject);
  return untilEnded(session, promise);
}

/** Ends an established session; `onConfirmed` runs once the exchange has confirmed the end. */
export function bye(session: Session, onConfirmed?: () => void): void {
  const sent = session.bye({
    requestDelegate: {
      onAccept: () => onConfirmed?.(),
      // 481: the exchange does not have the call any more. SIP.js invents 503 and 408 where nothing was sent or answered.
      onReject: ({ message }) => message.statusCode === 481 && onConfirmed?.(),
    },
  });
  void sent.catch(() => undefined);
}
