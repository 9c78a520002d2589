/** SIP registration over a socket that may be dead without an error. */
import { Registerer, RegistererState, RequestPendingError } from 'sip.js';
import type { RegistererRegisterOptions, UserAgent } from 'sip.js';

/** The password was changed, or the extension was deleted: a retry cannot succeed. */
export class RegistrationRefused extends Error {}
export interface Registration {
  /** Opens the socket if it is closed, and registers. A socket without an answer is dropped; the next attempt opens another. */
  renew(): Promise<void>;
  /** The next `renew` opens another socket. */
  drop(): void;
  end(): void;
}
const EXPIRES_SECONDS = 120;
/** Limit of an answer, after which the socket counts as dead. */
const ANSWER_MS = 4_000;
const ignored = (): void => undefined;

/** SIP.js refreshes by a timer that ignores the promise: the refresh may meet a renewal that has no answer yet. */
class OwnRegisterer extends Registerer {
  override register(options?: RegistererRegisterOptions): ReturnType<Registerer['register']> {
    const sent = super.register(options);
    sent.catch(ignored);
    return sent;
  }
}

export function createRegistration(agent: UserAgent, onLost: () => void): Registration {
  const begin = (): Registerer => {
    const fresh = new OwnRegisterer(agent, { expires: EXPIRES_SECONDS });
    fresh.stateChange.addListener((state) => {
      if (fresh === registerer && state === RegistererState.Unregistered) onLost();
    });
    return fresh;
  };
  let registerer = begin();
  function drop(): void {
    if (agent.isConnected()) void agent.transport.disconnect().catch(ignored);
  }
  function register(): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        drop();
        reject(new Error('registration: no answer'));
      }, ANSWER_MS);
      const settled = (error?: Error): void => {
        clearTimeout(late);
        if (error === undefined) resolve();
        else reject(error);
      };
      registerer
        .register({
          requestDelegate: {
            onAccept: () => settled(),
            onReject: ({ message: { statusCode = 0 } }) => {
              const refused = statusCode === 401 || statusCode === 403;
              const error = `registration: ${statusCode}`;
              settled(refused ? new RegistrationRefused(error) : new Error(error));
            },
          },
        })
        .catch(settled);
    });
  }
  return {
    async renew() {
      if (!agent.isConnected()) await agent.reconnect();
      try {
        await register();
      } catch (error) {
        if (!(error instanceof RequestPendingError)) throw error;
        // A request on a socket that died blocks the registerer of SIP.js for half a minute.
        const old = registerer;
        registerer = begin();
        void old.dispose().catch(ignored);
        await register();
      }
    },
    drop,
    end: () => void registerer.unregister().catch(ignored),
  };
}
