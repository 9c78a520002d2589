/** The service itself, with a defect for each signal: nobody handles a rejection (SIGWINCH), or an error in a timer (SIGURG). */
process.on('SIGWINCH', () => void Promise.reject(new Error('a defect for the test')));
process.on('SIGURG', () => {
  setTimeout(() => {
    throw new TypeError('a defect in a timer');
  });
});
await import('../../src/main.ts');
