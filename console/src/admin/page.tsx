import type { ReactNode } from 'react';
import { Empty } from '../app/states.tsx';

export const ConfigPage = (): ReactNode => <Empty title="ConfigPage" />;
export const ObjectsPage = (): ReactNode => <Empty title="ObjectsPage" />;
export const ObjectPage = (): ReactNode => <Empty title="ObjectPage" />;
export const ChangesPage = (): ReactNode => <Empty title="ChangesPage" />;
export const ApplyPage = (): ReactNode => <Empty title="ApplyPage" />;
export const VersionsPage = (): ReactNode => <Empty title="VersionsPage" />;
export const VersionPage = (): ReactNode => <Empty title="VersionPage" />;
