/** Starts the service with two defects: an unhandled rejection on SIGWINCH, an error in a timer on SIGURG. */
process.on('SIGWINCH', () => void Promise.reject(new Error('a defect for the test')));
process.on('SIGURG', () => {
  setTimeout(() => {
    throw new TypeError('a defect in a timer');
  });
});
await import('../../src/programs/main.ts');
