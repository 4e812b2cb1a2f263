// Tells the uploader's style that scripts run; in the portal theme.js does, but the admin has a theme of its own.
document.documentElement.dataset.js = "";
