export const CLIENT = 'offhook';
