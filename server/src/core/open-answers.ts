import type { ServerResponse } from 'node:http';

/**
 * Answers that may take as long as their reader likes: a player that was paused takes nothing more, and the end of the service
 * must not wait for it. Returns the function that registers one.
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
