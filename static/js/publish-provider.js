// Publishing a provider: what was dropped is understood first, and sent file by file when the person says so.
// Without this file the forms work as they are, in two steps.

import { ProviderUpload } from "./upload/provider/upload.js";

for (const form of document.querySelectorAll("form[data-provider-publish], form[data-provider-draft]")) new ProviderUpload(form);
