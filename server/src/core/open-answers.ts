import type { ServerResponse } from 'node:http';

/**
 * Ends registered responses when the service stops: a client that reads slowly, such as a paused player, would
 * otherwise delay the stop without limit. Returns the function that registers a response.
 */
export function endedWithService(app: {
  addHook(name: 'preClose', hook: (done: () => void) => void): unknown;
}): (response: ServerResponse) => void {
  const open = new Set<ServerResponse>();
  app.addHook('preClose', (done) => {
    for (const response of open) response.destroy();
    done();
  });
  return (response) => {
    open.add(response);
    response.once('close', () => open.delete(response));
  };
}
