import type { ReactNode } from 'react';
import { Empty } from '../app/states.tsx';

export const AccountPage = (): ReactNode => <Empty title="AccountPage" />;
